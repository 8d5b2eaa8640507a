//! A world's secret, and the proofs of knowing it.
//!
//! What must stay true: the bytes leave this file only as a MAC or, through
//! [`Secret::to_hex`], into the environment of a rank that is being started.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::hello::{Hello, NONCE_BYTES};

/// The bytes of a secret.
const SECRET_BYTES: usize = 32;
/// The bytes of a proof.
pub(super) const PROOF_BYTES: usize = 32;

/// A world's shared secret: 256 random bits, without which nobody joins.
#[derive(Clone)]
pub struct Secret([u8; SECRET_BYTES]);

/// Who proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Hub,
    Rank,
}

impl Secret {
    /// Draws a secret from the operating system.
    ///
    /// # Panics
    ///
    /// If the operating system has no random numbers to give.
    #[must_use]
    pub fn random() -> Self {
        Self(random_bytes())
    }

    /// Reads a secret as [`to_hex`](Self::to_hex) writes it: 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; SECRET_BYTES];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// Returns the secret as 64 hexadecimal digits, for `SPMD_SECRET` of a rank that is started by hand.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex::encode(self.0)
    }

    /// Makes one side's proof for one handshake.
    pub(super) fn prove(
        &self,
        side: Side,
        hello: &Hello,
        hub_nonce: &[u8; NONCE_BYTES],
    ) -> [u8; PROOF_BYTES] {
        self.mac(side, hello, hub_nonce)
            .finalize()
            .into_bytes()
            .into()
    }

    /// Checks one side's proof in constant time.
    pub(super) fn verify(
        &self,
        proof: &[u8],
        side: Side,
        hello: &Hello,
        hub_nonce: &[u8; NONCE_BYTES],
    ) -> bool {
        self.mac(side, hello, hub_nonce).verify_slice(proof).is_ok()
    }

    fn mac(&self, side: Side, hello: &Hello, hub_nonce: &[u8; NONCE_BYTES]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        // The domain: what is proved, by whom. All parts have fixed lengths, so none can slide into another.
        mac.update(match side {
            Side::Hub => b"spmd-hub 1 hub  proof",
            Side::Rank => b"spmd-hub 1 rank proof",
        });
        mac.update(&hello.encode());
        mac.update(hub_nonce);
        mac
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Draws random bytes from the operating system.
pub(super) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_survives_its_hexadecimal_form_and_never_shows_in_debug_output() {
        let secret = Secret::random();
        let hex = secret.to_hex();
        assert_eq!(Secret::from_hex(&hex).unwrap().0, secret.0);
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        for wrong in [
            "",
            "zz",
            &hex[1..],
            &format!("{hex}0"),
            &hex.replace(&hex[..1], "g"),
        ] {
            assert!(Secret::from_hex(wrong).is_none());
        }
    }

    #[test]
    fn a_proof_counts_for_its_side_rank_and_nonces_only() {
        let secret = Secret::random();
        let hello = Hello::new(1, 4);
        let nonce = random_bytes();
        let proof = secret.prove(Side::Rank, &hello, &nonce);
        assert!(secret.verify(&proof, Side::Rank, &hello, &nonce));
        assert!(
            !secret.verify(&proof, Side::Hub, &hello, &nonce),
            "a reflected proof counted"
        );
        assert!(!secret.verify(&proof, Side::Rank, &Hello { rank: 2, ..hello }, &nonce));
        assert!(
            !secret.verify(&proof, Side::Rank, &hello, &random_bytes()),
            "a replayed proof counted"
        );
        assert!(!secret.verify(&proof, Side::Rank, &Hello::new(1, 4), &nonce));
        assert!(!secret.verify(&[], Side::Rank, &hello, &nonce));
        assert!(!Secret::random().verify(&proof, Side::Rank, &hello, &nonce));
    }
}
