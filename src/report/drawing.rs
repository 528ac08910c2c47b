//! A plan's graph as Mermaid and as DOT: `plan show --format mermaid|dot`.
//!
//! Says who waits for whom, and how. Unaware of runs, and of how the text is laid out into a picture.

use std::fmt::Write;

use crate::ir::kind::{EndPoint, Machine};
use crate::ir::{GroupId, Join, Kind, Plan, Stage, TaskId, spell};

/// A Mermaid flowchart.
#[must_use]
pub fn mermaid(plan: &Plan) -> String {
    let mut out = format!("---\ntitle: {}\n---\nflowchart TD\n", yaml(&plan.name));
    boxes(plan, &mut |line| {
        let (depth, text) = match line {
            Line::Open(depth, id, title) => (depth, format!("subgraph {id}[\"{}\"]", entity(title))),
            Line::Task(depth, id) => (depth, mermaid_node(plan, id)),
            Line::Close(depth) => (depth, "end".to_owned()),
        };
        let _ = writeln!(out, "{}{text}", "    ".repeat(depth));
    });
    for id in plan.ids() {
        for dependency in &plan[id].depends_on {
            let arrow = match plan[id].join.value {
                Join::All => "-->",
                Join::Passed => "-->|passed|",
                Join::Settled => "-.->|settled|",
            };
            let _ = writeln!(out, "    t{} {arrow} t{}", dependency.task.0, id.0);
        }
        for target in &plan[id].revise {
            let _ = writeln!(out, "    t{} -.->|revise| t{}", id.0, target.value.0);
        }
    }
    for (id, machine) in machines(plan) {
        let _ = writeln!(out, "    subgraph m{}[\"{}\"]", id.0, entity(&plan[id].name.value));
        for (end, name) in ends(machine) {
            let (open, close) = match end {
                EndPoint::Start | EndPoint::Exit => ("((", "))"),
                EndPoint::Node(_) | EndPoint::Unknown => ("[", "]"),
            };
            let _ = writeln!(out, "        {}{open}\"{}\"{close}", inner(id, end), entity(name));
        }
        for edge in &machine.edges {
            let said = spell::clauses(plan, edge);
            let said = if said.is_empty() { said } else { format!("|\"{}\"|", entity(&said)) };
            let (from, to) = (inner(id, edge.from.value), inner(id, edge.to.value));
            let _ = writeln!(out, "        {from} -->{said} {to}");
        }
        out.push_str("    end\n");
        let _ = writeln!(out, "    t{} -.- m{}", id.0, id.0);
    }
    let advisory: Vec<String> =
        plan.ids().filter(|&id| !plan[id].required).map(|id| format!("t{}", id.0)).collect();
    if !advisory.is_empty() {
        out.push_str("    classDef advisory stroke-dasharray: 4 3\n");
        for some in advisory.chunks(50) {
            let _ = writeln!(out, "    class {} advisory", some.join(","));
        }
    }
    out
}

fn mermaid_node(plan: &Plan, id: TaskId) -> String {
    let (open, close) = match plan[id].kind {
        Kind::Command(_) => ("[", "]"),
        Kind::Evaluate(_) => ("[/", "/]"),
        Kind::Agent(_) => ("([", "])"),
        Kind::Route(_) => ("{", "}"),
        Kind::Gate(_) => ("{{", "}}"),
        Kind::TopK(_) => ("[\\", "/]"),
        Kind::Report(_) => (">", "]"),
        Kind::Call(_) | Kind::Machine(_) => ("[[", "]]"),
    };
    let label: Vec<String> = label(plan, id).iter().map(|line| entity(line)).collect();
    format!("t{}{open}\"{}\"{close}", id.0, label.join("<br/>"))
}

/// A DOT digraph.
#[must_use]
pub fn dot(plan: &Plan) -> String {
    let mut out = format!(
        "digraph {} {{\n    rankdir=TB\n    node [shape=box, style=rounded, fontname=\"sans-serif\"]\n    edge [fontname=\"sans-serif\", fontsize=10]\n",
        dot_text(&plan.name)
    );
    boxes(plan, &mut |line| {
        let (depth, text) = match line {
            Line::Open(depth, id, title) => {
                (depth, format!("subgraph cluster_{id} {{ label={}", dot_text(title)))
            }
            Line::Task(depth, id) => (depth, dot_node(plan, id)),
            Line::Close(depth) => (depth, "}".to_owned()),
        };
        let _ = writeln!(out, "{}{text}", "    ".repeat(depth));
    });
    for id in plan.ids() {
        for dependency in &plan[id].depends_on {
            let style = match plan[id].join.value {
                Join::All => "",
                Join::Passed => " [label=\"passed\"]",
                Join::Settled => " [label=\"settled\", style=dashed]",
            };
            let _ = writeln!(out, "    t{} -> t{}{style}", dependency.task.0, id.0);
        }
        for target in &plan[id].revise {
            let back = "[label=\"revise\", style=dotted, constraint=false]";
            let _ = writeln!(out, "    t{} -> t{} {back}", id.0, target.value.0);
        }
    }
    for (id, machine) in machines(plan) {
        let title = dot_text(&plan[id].name.value);
        let _ = writeln!(out, "    subgraph cluster_m{} {{ label={title}", id.0);
        for (end, name) in ends(machine) {
            let shape = match end {
                EndPoint::Start | EndPoint::Exit => "circle",
                EndPoint::Node(_) | EndPoint::Unknown => "box",
            };
            let _ = writeln!(out, "        {} [label={}, shape={shape}]", inner(id, end), dot_text(name));
        }
        for edge in &machine.edges {
            let said = spell::clauses(plan, edge);
            let said = if said.is_empty() { said } else { format!(" [label={}]", dot_text(&said)) };
            let (from, to) = (inner(id, edge.from.value), inner(id, edge.to.value));
            let _ = writeln!(out, "        {from} -> {to}{said}");
        }
        out.push_str("    }\n");
        let start = inner(id, EndPoint::Start);
        let _ = writeln!(out, "    t{} -> {start} [style=dotted, arrowhead=none]", id.0);
    }
    out.push_str("}\n");
    out
}

/// Every machine, with its task.
fn machines(plan: &Plan) -> impl Iterator<Item = (TaskId, &Machine)> {
    plan.ids().filter_map(|id| match &plan[id].kind {
        Kind::Machine(machine) => Some((id, &**machine)),
        Kind::Command(_)
        | Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_) => None,
    })
}

/// What the edges of a machine may lead from and to, with names.
fn ends(machine: &Machine) -> impl Iterator<Item = (EndPoint, &str)> {
    let nodes = machine.nodes.iter().zip(0u32..);
    let nodes = nodes.map(|(node, at)| (EndPoint::Node(at), node.task.name.value.as_str()));
    [(EndPoint::Start, "start")].into_iter().chain(nodes).chain([(EndPoint::Exit, "exit")])
}

/// What an end of a machine's edge is called in a drawing.
fn inner(task: TaskId, end: EndPoint) -> String {
    match end {
        EndPoint::Start => format!("m{}_start", task.0),
        EndPoint::Exit => format!("m{}_exit", task.0),
        EndPoint::Node(at) => format!("m{}_{at}", task.0),
        EndPoint::Unknown => format!("m{}_unknown", task.0),
    }
}

fn dot_node(plan: &Plan, id: TaskId) -> String {
    let shape = match plan[id].kind {
        Kind::Command(_) => "box",
        Kind::Evaluate(_) => "parallelogram",
        Kind::Agent(_) => "ellipse",
        Kind::Route(_) => "diamond",
        Kind::Gate(_) => "hexagon",
        Kind::TopK(_) => "invtrapezium",
        Kind::Report(_) => "note",
        Kind::Call(_) | Kind::Machine(_) => "box3d",
    };
    let style = if plan[id].required { "rounded" } else { "\"rounded,dashed\"" };
    format!("t{} [label={}, shape={shape}, style={style}]", id.0, dot_text(&label(plan, id).join("\n")))
}

/// What a node says: its name, its kind where that is not plain, what it fans out over, and when it runs.
fn label(plan: &Plan, id: TaskId) -> Vec<String> {
    let task = &plan[id];
    let mut lines = vec![task.name.value.to_string()];
    match &task.kind {
        Kind::Command(_) => {}
        Kind::Evaluate(_)
        | Kind::Agent(_)
        | Kind::Route(_)
        | Kind::Gate(_)
        | Kind::TopK(_)
        | Kind::Report(_)
        | Kind::Call(_)
        | Kind::Machine(_) => lines.push(task.kind.as_str().to_owned()),
    }
    if let Some(over) = &task.over {
        lines.push(format!("over {}", spell::over(plan, &over.value)));
    }
    if let Some(when) = &task.when {
        lines.push(format!("when {}", spell::condition(plan, &when.value)));
    }
    lines
}

/// A line of the nesting of stages, groups and tasks.
enum Line<'a> {
    Open(usize, String, &'a str),
    Task(usize, TaskId),
    Close(usize),
}

/// Calls `each` with every task inside its stage and groups, in declaration order.
fn boxes<'a>(plan: &'a Plan, each: &mut dyn FnMut(Line<'a>)) {
    let mut opened = 0;
    for stage in [Stage::Main, Stage::Epilogue] {
        let ids = || plan.ids().filter(move |&id| plan[id].stage == stage);
        // The main graph needs no box of its own.
        let base = match stage {
            Stage::Main => 1,
            Stage::Epilogue if ids().next().is_none() => continue,
            Stage::Epilogue => {
                each(Line::Open(1, "epilogue".to_owned(), "epilogue"));
                2
            }
        };
        let mut open: Vec<GroupId> = Vec::new();
        for id in ids() {
            let path = groups(plan, plan[id].group);
            let common = open.iter().zip(&path).take_while(|(one, other)| one == other).count();
            while open.len() > common {
                open.pop();
                each(Line::Close(base + open.len()));
            }
            for &group in &path[common..] {
                let title = plan.groups.get(group.index()).map_or("", |group| group.name.value.as_str());
                each(Line::Open(base + open.len(), format!("g{opened}"), title));
                opened += 1;
                open.push(group);
            }
            each(Line::Task(base + open.len(), id));
        }
        while open.pop().is_some() {
            each(Line::Close(base + open.len()));
        }
        if stage == Stage::Epilogue {
            each(Line::Close(1));
        }
    }
}

/// The groups around a task, outermost first.
fn groups(plan: &Plan, group: Option<GroupId>) -> Vec<GroupId> {
    let mut path: Vec<GroupId> =
        std::iter::successors(group, |group| plan.groups.get(group.index()).and_then(|group| group.parent))
            .collect();
    path.reverse();
    path
}

/// Text inside Mermaid's quotes.
fn entity(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' => out.push_str("#quot;"),
            '#' => out.push_str("#35;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            '`' => out.push_str("#96;"),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

/// A string of YAML, for Mermaid's title: its escapes are not those of the language.
fn yaml(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            odd if odd.is_control() || matches!(odd, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(odd));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// A quoted string of DOT, which has no escape for a control character.
fn dot_text(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_string_of_the_format() {
        let name = "a\"b\\c\u{1b}[31m\n\u{85}\u{2028}---";
        assert_eq!(yaml(name), r#""a\"b\\c\u001b[31m\u000a\u0085\u2028---""#);
        assert_eq!(dot_text("a\"b\\c\u{1b}[31m\nd"), r#""a\"b\\c [31m\nd""#);
    }
}
