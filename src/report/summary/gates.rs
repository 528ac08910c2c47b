//! What verifiers did not accept, where the run went on or ended on it; and what never had its turn.

use super::Summary;
use crate::event::{Exit, VerifierEnded};
use crate::history::{Row, State, instance_name};
use crate::report::lines::phrase_of;
use crate::report::text;
use crate::source::Text;

impl Summary<'_> {
    /// Acceptance gates that do not hold, and verifiers that withheld nothing although they said no.
    pub(super) fn rejections(&self, out: &mut Vec<String>) {
        let gates: Vec<&VerifierEnded> = self.history.gates.values().filter(|said| !said.pass).collect();
        self.list("gates that do not hold", gates, out, |said, out| {
            self.rejection(None, said, out);
        });
        let sent_back: Vec<&VerifierEnded> = self.history.sent_back().collect();
        self.list("gates that sent the plan back, and were not asked again", sent_back, out, |said, out| {
            self.rejection(None, said, out);
        });
        let mut advisory: Vec<(Text, &VerifierEnded)> = Vec::new();
        for row in &self.history.rows {
            let parts = row.instances.iter().flatten();
            let parts = parts.map(|(key, part)| (instance_name(&row.name, key), part));
            for (name, row) in parts.chain([(row.name.clone(), row)]) {
                let said = row.verifiers.values().filter(|said| !said.pass && !said.required);
                advisory.extend(said.map(|said| (name.clone(), said)));
            }
        }
        self.list("advisory verifiers that do not hold", advisory, out, |(name, said), out| {
            self.rejection(Some(&name), said, out);
        });
    }

    fn rejection(&self, of: Option<&str>, said: &VerifierEnded, out: &mut Vec<String>) {
        let of = of.map(|of| format!(" of `{of}`")).unwrap_or_default();
        let kind = if said.required { "" } else { " (advisory)" };
        let detail = said.detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
        let how = said.mode.map_or("rejected", phrase_of);
        out.push(text::clean(&format!("  `{}`{of}{kind} {how}{detail}", said.verifier)));
        self.verifier_logs(said, out);
    }

    /// Where to look for what a verifier wrote.
    pub(super) fn verifier_logs(&self, said: &VerifierEnded, out: &mut Vec<String>) {
        let name = VerifierEnded::stream(said.attempt, said.round, &said.verifier);
        for log in (self.places.verification)(&name) {
            out.push(text::clean(&format!("    log   {log}")));
        }
    }

    /// Who ended the run early and why, and which tasks have not had their turn.
    pub(super) fn unsettled(&self, state: State, out: &mut Vec<String>) {
        let open: Vec<&Row> = self.history.rows.iter().filter(|row| !row.is_settled()).collect();
        let early = self.history.halted.as_ref().filter(|halted| halted.exit == Exit::Concluded);
        if let Some(halted) = early {
            let by = halted.task.as_deref().unwrap_or_default();
            let why = halted.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            out.push(text::clean(&format!("ended early by `{by}`{why}")));
        }
        let heading = match (state, early) {
            (State::Ended, Some(_)) => "did not run, because the run ended early",
            (State::Ended, None) => "has not settled",
            (State::Interrupted | State::Waiting, _) => "still to come",
            (State::Running, _) => {
                let tick = |name: Text, out: &mut Vec<String>| out.push(text::clean(&format!("  `{name}`")));
                self.list(
                    "looked at by its verifiers",
                    self.roles.under_verification(self.history),
                    out,
                    tick,
                );
                self.list("gates being asked", self.roles.gates_asked(self.history), out, tick);
                return;
            }
        };
        self.list(heading, open, out, |row, out| out.push(text::clean(&format!("  `{}`", row.name))));
    }
}
