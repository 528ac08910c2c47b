//! The secrets of a run: what this environment has of the variables that its plan names, and whether they are
//! those with which the run began (EXECUTION §6).
//!
//! A run keeps results as tasks wrote them, and `run.json` a few salted digits of every secret. Who lacks a
//! secret cannot mask it, and so neither shows what may hold it nor goes on with the run.

use std::collections::BTreeMap;

use super::Failure;
use crate::source::Text;
use crate::store::about::About;
use crate::store::mask::Mask;

/// How many digits of a digest are kept: enough to notice another value, too few to try values against.
const DIGITS: usize = 8;

/// The mask of these variables, as far as this environment has them.
pub(super) fn mask(names: &[Text]) -> Result<Mask, Failure> {
    let mut values = Vec::new();
    for name in names {
        match std::env::var(name) {
            Ok(value) => values.push((name.as_str(), value)),
            Err(std::env::VarError::NotPresent) => {}
            Err(std::env::VarError::NotUnicode(_)) => {
                let message = format!("the secret `{name}` is not UTF-8 and cannot be masked");
                return Err(Failure::new(message));
            }
        }
    }
    let values = values.iter().map(|(name, value)| (*name, value.as_str()));
    Mask::new(values).map_err(|short| Failure::new(short.to_string()))
}

/// What tells the values of these variables apart, with a run's random material as the salt. None for what is
/// not set.
pub(super) fn digests(names: &[Text], salt: &str) -> BTreeMap<Text, Option<Text>> {
    names.iter().map(|name| (name.clone(), digest(name, salt))).collect()
}

fn digest(name: &str, salt: &str) -> Option<Text> {
    let value = std::env::var_os(name)?;
    let mut hasher = blake3::Hasher::new();
    for part in [salt.as_bytes(), name.as_bytes(), value.as_encoded_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    Some(hasher.finalize().to_hex()[..DIGITS].into())
}

/// How this environment differs from the one in which the run began: one clause for each secret.
pub(super) fn differences(about: &About) -> Vec<String> {
    let differs = about.secrets.iter().filter_map(|(name, then)| {
        let how = match (then, digest(name, &about.random)) {
            (Some(then), Some(now)) if *then == now => return None,
            (None, None) => return None,
            (Some(_), Some(_)) => "has another value than when the run began",
            (Some(_), None) => "is not set, and was when the run began",
            (None, Some(_)) => "is set, and was not when the run began",
        };
        Some(format!("the secret `{name}` {how}"))
    });
    differs.collect()
}

/// The secrets of the run that this environment does not have, so that nothing could mask them.
pub(super) fn unknown(about: &About) -> Vec<Text> {
    let known = |name: &Text, then: &Text| digest(name, &about.random).as_ref() == Some(then);
    let unknown =
        about.secrets.iter().filter(|(name, then)| then.as_ref().is_some_and(|then| !known(name, then)));
    unknown.map(|(name, _)| name.clone()).collect()
}

/// What has to be done to see what is withheld for want of these secrets.
pub(super) fn set_them(unknown: &[Text]) -> String {
    let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    format!("set {} as when the run began", names.join(", "))
}
