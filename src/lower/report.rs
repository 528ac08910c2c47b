//! `report`: the template, and where what it renders goes.

use camino::Utf8Path;

use super::Lower;
use super::fields::{self, Fields};
use super::files;
use super::names::Scope;
use crate::ir::Kind;
use crate::ir::kind::{Report, STDOUT, of_the_run};
use crate::load;
use crate::reference::table;
use crate::source::{Spanned, Text};
use crate::syntax::ast;

impl<'a> Lower<'a, '_> {
    pub(super) fn report(&mut self, fields: &Fields<'a>, scope: &Scope) -> Kind {
        self.require(fields, &table::TEMPLATE);
        self.require(fields, &table::TO);
        let nothing = Spanned::new(Text::default(), fields.span);
        let template = fields.get(&table::TEMPLATE).and_then(|expr| self.text(&table::TEMPLATE, expr, scope));
        let text = template.as_ref().and_then(|path| self.pack_text(&path.value, path.span, scope));
        let to = fields.get(&table::TO).and_then(|expr| self.report_path(expr, scope));
        let result = match fields.get(&table::REPORT_RESULT) {
            Some(expr) => self.task_named(&table::REPORT_RESULT, expr, scope),
            None => None,
        };
        Kind::Report(Box::new(Report {
            template: template.unwrap_or_else(|| nothing.clone()),
            text: text.unwrap_or_else(|| "".into()),
            to: to.unwrap_or(nothing),
            result,
        }))
    }

    fn report_path(&mut self, expr: &ast::Expr, scope: &Scope) -> Option<Spanned<Text>> {
        let to = self.text(&table::TO, expr, scope)?;
        if to.value == STDOUT {
            return Some(to);
        }
        match load::resolve(Utf8Path::new(""), &to.value) {
            None => self.error(files::outside(to.span, &to.value, "the run's directory")),
            Some(path) if path.as_str().is_empty() || to.value.ends_with('/') => {
                let message = format!("`{}` names a directory, not a file", to.value);
                self.error(fields::UNUSABLE.at(to.span, message));
            }
            Some(path) if of_the_run(path.as_str()).is_some() => {
                let own = of_the_run(path.as_str()).unwrap_or_default();
                let message = format!("`{own}` in the run's directory belongs to the run itself");
                let found = fields::UNUSABLE.at(to.span, message).label("a report cannot be written there");
                self.error(found.help("write it elsewhere, as in `to = \"report.md\"`"));
            }
            Some(path) => return Some(Spanned::new(path.as_str().into(), to.span)),
        }
        None
    }
}
