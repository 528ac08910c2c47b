//! Stands in for people in tests of packs: what a gate is answered is written down (EXECUTION §15).
//!
//! An answer may take time of the clock's. Unaware of which questions are ever asked.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indexmap::IndexMap;
use serde::Deserialize;
use tokio::task::JoinHandle;

use super::stub::Time;
use crate::exec::ports::{Clock, Notice, Post, Request, Source};
use crate::history::{Question, split_name};
use crate::source::Text;

/// Who answers, where a case does not say.
const SOMEBODY: &str = "test";

/// Answers, by the name of a gate or of an instance: `approve = "yes"`, or with more to say, or a list of these,
/// one a round, of which the last stands for all further rounds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Answers(pub IndexMap<String, Several>);

/// One answer, or one a round.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Several {
    /// One a round. Tried first: a record could be read from a list as well.
    Each(Vec<Given>),
    /// The same in each.
    Always(Given),
}

/// An answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Given {
    /// At once, by somebody.
    Plain(Text),
    /// With more to say.
    Full(Full),
}

/// An answer with all that there is to say.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Full {
    /// The answer.
    pub answer: Text,
    /// Who answers.
    #[serde(default = "somebody")]
    pub by: Text,
    /// How long that takes from when it was asked.
    #[serde(default)]
    pub after: Time,
}

fn somebody() -> Text {
    SOMEBODY.into()
}

impl Given {
    fn full(&self) -> Full {
        match self {
            Self::Plain(answer) => Full { answer: answer.clone(), by: somebody(), after: Time::default() },
            Self::Full(full) => full.clone(),
        }
    }
}

impl Answers {
    /// What `task` is answered in this round, from 1; none where nothing is written down.
    fn of(&self, task: &str, round: u32) -> Option<Full> {
        let given = self.0.get(task).or_else(|| self.0.get(split_name(task).0))?;
        match given {
            Several::Always(given) => Some(given.full()),
            Several::Each(all) => Some(all.get(round.max(1) as usize - 1).or(all.last())?.full()),
        }
    }
}

/// Answers questions as they are asked.
pub struct StubPeople {
    answers: Answers,
    clock: Arc<dyn Clock>,
    post: Option<Post>,
    /// Questions whose answer is on its way.
    coming: Arc<Mutex<BTreeSet<u64>>>,
    under_way: Vec<JoinHandle<()>>,
}

impl StubPeople {
    /// People who answer so.
    #[must_use]
    pub fn new(answers: Answers, clock: Arc<dyn Clock>) -> Self {
        Self { answers, clock, post: None, coming: Arc::default(), under_way: Vec::new() }
    }
}

fn lock(coming: &Mutex<BTreeSet<u64>>) -> MutexGuard<'_, BTreeSet<u64>> {
    coming.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Source for StubPeople {
    fn connect(&mut self, post: Post) {
        self.post = Some(post);
    }

    fn asked(&mut self, task: &str, question: &Question) {
        let (Some(full), Some(post)) = (self.answers.of(task, question.round), self.post.clone()) else {
            return;
        };
        let number = question.number;
        lock(&self.coming).insert(number);
        let (clock, coming, task) = (Arc::clone(&self.clock), Arc::clone(&self.coming), Text::from(task));
        let at = crate::ir::Millis(clock.now().0.saturating_add(full.after.0.0));
        self.under_way.push(tokio::spawn(async move {
            clock.until(at).await;
            let Full { answer, by, .. } = full;
            post(Notice::Request(Request::Answer { task, question: number, answer, by, result: None }));
            // Whether it counts is seen before anything else happens; one that does not is the last.
            lock(&coming).remove(&number);
            post(Notice::Left);
        }));
    }

    fn closed(&mut self, question: u64) {
        lock(&self.coming).remove(&question);
    }

    fn attends(&self) -> bool {
        !lock(&self.coming).is_empty()
    }
}

impl Drop for StubPeople {
    fn drop(&mut self) {
        self.under_way.iter().for_each(JoinHandle::abort);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_as_short_as_it_can_be() {
        let answers: Answers = toml::from_str(
            "a = 'yes'\nb = { answer = 'no', by = 'ada', after = '1h' }\nc = ['no', { answer = 'yes' }]\n\
             'm[x]' = 'no'\nm = 'yes'",
        )
        .unwrap();
        let of =
            |task: &str, round| answers.of(task, round).map(|full| (full.answer, full.by, full.after.0.0));
        let given = |answer: &str, by: &str, after| Some((answer.into(), by.into(), after));
        assert_eq!(of("a", 3), given("yes", "test", 0));
        assert_eq!(of("b", 1), given("no", "ada", 3_600_000));
        assert_eq!(
            [1, 2, 3].map(|round| of("c", round)),
            ["no", "yes", "yes"].map(|said| given(said, "test", 0))
        );
        assert_eq!((of("m[x]", 1), of("m[y]", 1)), (given("no", "test", 0), given("yes", "test", 0)));
        assert_eq!(of("d", 1), None);
        assert!(toml::from_str::<Answers>("a = { anwser = 'yes' }").is_err());
    }
}
