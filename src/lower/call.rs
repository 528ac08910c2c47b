//! `call`: another plan of the pack, compiled with the values that it is launched with.
//!
//! The called plan has names of its own; only values cross, and they stay external.

use std::sync::Arc;

use super::Lower;
use super::fields::Fields;
use super::names::Scope;
use super::params::Launch;
use super::value::Val;
use crate::diag::{Code, Severity};
use crate::ir::kind::Call;
use crate::ir::{Kind, Value};
use crate::reference::table;
use crate::source::{Spanned, Text};
use crate::syntax::ast;

/// Plans that call each other.
pub(crate) static CIRCLE: Code = Code {
    id: "plan::call::circle",
    severity: Severity::Error,
    summary: "Plans that call each other in a circle",
    explain: "A called plan is compiled with its caller, so it cannot lead back to it. Calls nest at most 32 deep, \
              and a plan has at most 10,000 of them, those of the plans it calls included.",
};

const DEEPEST: usize = 32;
const MOST: u32 = 10_000;

impl<'a> Lower<'a, '_> {
    pub(super) fn call(&mut self, fields: &Fields<'a>, scope: &Scope) -> Kind {
        self.require(fields, &table::CALLED);
        let plan = fields.get(&table::CALLED).and_then(|expr| self.text(&table::CALLED, expr, scope));
        let values = match fields.get(&table::CALL_PARAMS) {
            Some(expr) => self.call_values(expr, scope),
            None => Some(Vec::new()),
        };
        let params: Vec<(Spanned<Text>, Value)> = values
            .iter()
            .flatten()
            .filter_map(|(name, value)| Some((name.clone(), value.plain()?)))
            .collect();
        let child = match (&plan, values) {
            (Some(plan), Some(values)) => self.child(plan, values, fields, scope),
            (Some(_) | None, _) => None,
        };
        let plan = plan.unwrap_or_else(|| Spanned::new(Text::default(), fields.span));
        Kind::Call(Box::new(Call { plan, params, child }))
    }

    fn call_values(&mut self, expr: &'a ast::Expr, scope: &Scope) -> Option<Vec<(Spanned<Text>, Val)>> {
        let before = self.trouble;
        let entries = self.entries(&table::CALL_PARAMS, expr, scope)?;
        let values = entries
            .into_iter()
            .map(|entry| {
                let value = self.eval(&entry.value, scope);
                (Spanned::new(entry.key.value.clone(), entry.key.span), value)
            })
            .collect();
        (self.trouble == before).then_some(values)
    }

    fn child(
        &mut self,
        plan: &Spanned<Text>,
        values: Vec<(Spanned<Text>, Val)>,
        fields: &Fields<'a>,
        scope: &Scope,
    ) -> Option<Arc<crate::ir::Plan>> {
        let path = self.pack_path(&plan.value, plan.span, scope)?;
        let own = &self.modules.first()?.path;
        if *own == path || self.session.calling.contains(&path) {
            let message = format!("`{}` leads back to a plan that calls it", plan.value);
            self.error(CIRCLE.at(plan.span, message).label("closes the circle"));
            return None;
        }
        if self.session.calling.len() >= DEEPEST {
            self.error(CIRCLE.at(plan.span, format!("calls nest more than {DEEPEST} deep")));
            return None;
        }
        self.session.calls += 1;
        if self.session.calls > MOST {
            if self.session.calls == MOST + 1 {
                self.error(CIRCLE.at(plan.span, format!("there are more than {MOST} calls")));
            }
            self.hole();
            return None;
        }
        if let Err(problem) = self.session.module(&path) {
            self.error(super::files::unreadable(plan.span, &plan.value, &problem));
            return None;
        }
        let errors = self.session.diagnostics.count(Severity::Error);
        let own = own.clone();
        self.session.calling.push(own);
        let launch = Launch::Call { values, span: fields.span, check_only: self.check_only };
        let child = super::lower(self.session, &path, launch);
        self.session.calling.pop();
        if self.session.diagnostics.count(Severity::Error) > errors {
            self.hole();
            return None;
        }
        Some(Arc::new(child))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn limits_are_what_the_explanation_says() {
        assert!(super::CIRCLE.explain.contains(&super::DEEPEST.to_string()));
        assert!(super::CIRCLE.explain.contains("10,000"));
        assert_eq!(super::MOST, 10_000);
    }
}
