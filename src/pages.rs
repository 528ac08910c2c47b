//! The documentation pages that are rendered from tables: `cargo xtask docs` writes them, a test compares
//! them. Unaware of how a table is rendered; each table's own module says that.

use crate::report::{markdown, schema};

/// A page that is committed below `docs/` and rendered from a table.
#[derive(Debug)]
pub struct Page {
    /// Its path from the repository's root.
    pub path: &'static str,
    /// Its whole text.
    pub render: fn() -> String,
}

/// Every rendered page.
pub static PAGES: &[Page] = &[
    Page { path: "docs/reference.md", render: crate::reference::markdown::render },
    Page { path: "docs/diagnostics.md", render: crate::catalog::markdown },
    Page { path: "docs/states.md", render: crate::exec::states::markdown },
    Page { path: "docs/events.md", render: markdown::page },
    Page { path: "docs/events.schema.json", render: || schema::page(&schema::event()) },
    Page { path: "docs/status.schema.json", render: || schema::page(&schema::status()) },
];
