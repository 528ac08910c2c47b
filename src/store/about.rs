//! `run.json`: what a run was launched with, written once and never changed (EXECUTION §11).
//!
//! The log's first line carries its digest, so that an edited one shows. Unaware of what the values mean.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Error, RunDir, regular};
use crate::event::{Ceilings, FileSet};
use crate::source::Text;

/// The version of this document.
pub const SCHEMA: u32 = 1;

/// What a run was launched with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The run's name.
    pub run: Text,
    /// The plan's name.
    pub plan: Text,
    /// The plan file, absolute.
    pub plan_file: String,
    /// The workspace that the operator named, absolute; else it is the plan file's directory.
    pub workspace: Option<String>,
    /// The digest of the plan's meaning.
    pub plan_digest: Text,
    /// The digest of `plan.json`.
    pub plan_json: Text,
    /// The fingerprint of the gates, frozen files included.
    pub gates: Text,
    /// The frozen files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub frozen: Option<FileSet>,
    /// The parameters that the operator gave.
    pub params: Map<String, Value>,
    /// The run whose results are taken over where they hold.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reuse: Option<Text>,
    /// Every variable that some task lists as a secret, with a few digits that tell its value apart: none where
    /// it was not set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub secrets: BTreeMap<Text, Option<Text>>,
    /// The ceilings that the operator gave.
    pub ceilings: Ceilings,
    /// How many attempts could be in flight.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub jobs: Option<u64>,
    /// Whether a required failure ends what is in flight.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub kill_on_failure: bool,
    /// The program's version.
    pub version: Text,
    /// Random material: what has to be random in a run is derived from it, so that a replay draws nothing.
    pub random: Text,
}

impl About {
    /// What the control groups of the run are named after: nobody else's are named so.
    #[must_use]
    pub fn mark(&self) -> &str {
        self.random.get(..16).unwrap_or(&self.random)
    }

    /// The document, as it is written.
    #[must_use]
    pub(super) fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("every field can be written");
        text.push('\n');
        text
    }

    /// What `run` was launched with, and the digest of the document.
    ///
    /// # Errors
    /// If it cannot be read, or is of a version that this program does not know.
    pub fn read(run: &RunDir) -> Result<(Self, Text), Error> {
        let path = run.about();
        let bytes = regular::read(&path).map_err(Error::io("read", &path))?;
        let about: Self = match serde_json::from_slice(&bytes) {
            Ok(about) => about,
            Err(error) => return Err(Error::Unreadable { path, why: error.to_string() }),
        };
        if about.schema > SCHEMA {
            let why = format!("it is of version {}, and this program knows {SCHEMA}", about.schema);
            return Err(Error::Unreadable { path, why });
        }
        Ok((about, blake3::hash(&bytes).to_hex().as_str().into()))
    }
}
