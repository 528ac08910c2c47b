//! One attempt of a `report` task: the engine renders and writes, and no process is started.
//!
//! What a template sees and what becomes of it is decided in `exec/render.rs`; where the text goes is the
//! business of the port.

use std::sync::Arc;

use super::collect::Collected;
use super::grade::Graded;
use super::watch::Stopped;
use super::{Context, Job, Left, Order, Orders, Report, refused, settle, stopped};
use crate::event::{EndedBy, Grade};
use crate::exec::ports::{Boxed, Ended, Fingerprints, How};
use crate::exec::render::render;
use crate::ir::{Millis, kind};

/// Renders the report from the task's inputs and writes it. What the template lacks is a measured failure;
/// what cannot be written is the infrastructure's.
pub(super) async fn make(
    context: &Context,
    job: &Job,
    page: &kind::Report,
    before: Arc<Fingerprints>,
    mut report: Report,
    mut orders: Orders,
) -> Report {
    let started = context.clock.now();
    context.clock.hold(true);
    let rendered = rendered(context, job, page, &mut orders).await;
    let written = match rendered {
        Ok(Ok(text)) => Ok(Ok(written(context, job, page, text).await)),
        Ok(Err(problem)) => Ok(Err(problem)),
        Err(stop) => Err(stop),
    };
    context.clock.hold(false);
    let duration = Millis(context.clock.now().0.saturating_sub(started.0));
    report.ended.duration_ms = duration;
    match written {
        Ok(Ok(Ok(()))) => {
            let ended = Ended { how: How::Code(0), duration };
            let left = Left { ended, collected: Collected::default(), detail: None, stop: None, before };
            settle(context, job, report, left).await
        }
        Ok(Ok(Err(problem))) => refused(report, Grade::Transport, problem),
        Ok(Err(problem)) => refused(report, Grade::Fail, problem),
        Err(stop) => {
            let graded = Graded { grade: Grade::Fail, note: None, output: None, absent: None };
            stopped(report, graded, stop)
        }
    }
}

/// The text, or what is wrong with it; where somebody ended the attempt meanwhile, who did. A rendering
/// whose text nobody waits for any more comes to its own end: what it may take is bounded.
async fn rendered(
    context: &Context,
    job: &Job,
    page: &kind::Report,
    orders: &mut Orders,
) -> Result<Result<String, String>, Stopped> {
    let (page, inputs) = (page.clone(), context.files.masked(&job.inputs.json));
    let rendering = tokio::task::spawn_blocking(move || render(&page, &inputs));
    let limit = context.plan[job.task].timeout.map(|timeout| timeout.value);
    let timer: Boxed<'static, ()> = match limit {
        Some(limit) => context.clock.until(Millis(context.clock.now().0.saturating_add(limit.0))),
        None => Box::pin(std::future::pending()),
    };
    tokio::select! {
        biased;
        rendered = rendering => {
            Ok(rendered.unwrap_or_else(|error| Err(format!("its template cannot be rendered: {error}"))))
        }
        order = orders.next() => Err(match order {
            Order::End { by, note } => Stopped { by, note: note.to_string() },
            Order::Kill => {
                Stopped { by: EndedBy::Interruption, note: "ended by a second signal".to_owned() }
            }
        }),
        () = timer => {
            let limit = limit.unwrap_or_default();
            Err(Stopped { by: EndedBy::Timeout, note: format!("timed out after {limit}") })
        }
    }
}

/// Writes the text.
async fn written(context: &Context, job: &Job, page: &kind::Report, text: String) -> Result<(), String> {
    let (files, to, attempt) = (Arc::clone(&context.files), page.to.value.clone(), job.attempt);
    let writing = tokio::task::spawn_blocking(move || files.report(attempt, &to, &text));
    writing.await.unwrap_or_else(|error| Err(format!("`{}` cannot be written: {error}", page.to.value)))
}
