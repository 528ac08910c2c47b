//! Which boxes and edges the picture of a plan has: its tasks, or, of a plan that is too large to be read,
//! what they have in common.
//!
//! Unaware of places and of how anything looks.

use indexmap::IndexMap;
use indexmap::map::Entry;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::layout;
use crate::ir::dump::TaskDocument;
use crate::source::Text;

/// Most boxes of a picture.
pub(super) const MOST_BOXES: usize = 300;

/// Most edges of a picture.
const MOST_EDGES: usize = 1500;

/// With more edges than this, those that others imply are left out.
const CROWDED: usize = 400;

/// Most boxes of a picture that shows nothing but layers.
const MOST_BANDS: usize = 100;

/// A picture of some tasks of a plan.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// Its boxes.
    pub(super) boxes: Vec<Box>,
    /// From box to box, without cycles; the word says which join asks for it.
    pub(super) edges: Vec<(usize, usize, Text)>,
    /// Whether edges that others imply are left out.
    pub(super) reduced: bool,
    /// Whether a box may stand for several tasks.
    pub(super) collapsed: bool,
}

/// A box: one task, or several with a name for what they share.
#[derive(Clone, Debug)]
pub(super) struct Box {
    /// The indices of its tasks in the plan; at least one.
    pub(super) tasks: Vec<usize>,
    /// What several share.
    pub(super) label: String,
}

/// The picture of those `tasks` of which `member` says so.
pub(super) fn graph(tasks: &[TaskDocument], member: impl Fn(&TaskDocument) -> bool) -> Graph {
    let members: Vec<usize> = (0..tasks.len()).filter(|&at| member(&tasks[at])).collect();
    let number: FxHashMap<&str, usize> =
        members.iter().enumerate().map(|(at, &task)| (tasks[task].name.as_str(), at)).collect();
    let edges: Vec<(usize, usize, Text)> = members
        .iter()
        .enumerate()
        .flat_map(|(to, &task)| {
            let task = &tasks[task];
            let known = task.depends_on.iter().filter_map(|name| number.get(name.as_str()));
            known.map(move |&from| (from, to, task.join.clone()))
        })
        .collect();
    if members.len() <= MOST_BOXES {
        let (edges, reduced) = match edges.len() > CROWDED {
            true => (reduce(members.len(), &edges), true),
            false => (edges.clone(), false),
        };
        if edges.len() <= MOST_EDGES {
            let boxes = members.iter().map(|&task| Box { tasks: vec![task], label: String::new() }).collect();
            return Graph { boxes, edges, reduced, collapsed: false };
        }
    }
    let pairs: Vec<(usize, usize)> = edges.iter().map(|&(from, to, _)| (from, to)).collect();
    let layer = layout::layers(members.len(), &pairs);
    // Only what stands in one layer is drawn as one: no two of them wait for each other, so that the
    // picture has no cycle.
    let grouped = merge(
        &members,
        &edges,
        |at| (tasks[members[at]].group.clone(), layer[at]),
        |key| match key {
            (Some(group), layer) => format!("{group}, layer {}", layer + 1),
            (None, layer) => format!("layer {}", layer + 1),
        },
    );
    if grouped.boxes.len() <= MOST_BOXES && grouped.edges.len() <= MOST_EDGES {
        return grouped;
    }
    let depth = layer.iter().max().map_or(0, |&last| last + 1);
    let band = depth.div_ceil(MOST_BANDS).max(1);
    merge(
        &members,
        &edges,
        |at| layer[at] / band,
        |&at| match band {
            1 => format!("layer {}", at + 1),
            _ => format!("layers {} to {}", at * band + 1, ((at + 1) * band).min(depth)),
        },
    )
}

fn merge<K: Eq + std::hash::Hash>(
    members: &[usize],
    edges: &[(usize, usize, Text)],
    key: impl Fn(usize) -> K,
    label: impl Fn(&K) -> String,
) -> Graph {
    let mut boxes: IndexMap<K, Vec<usize>, FxBuildHasher> = IndexMap::default();
    let mut box_of = Vec::with_capacity(members.len());
    for (at, &task) in members.iter().enumerate() {
        box_of.push(match boxes.entry(key(at)) {
            Entry::Occupied(mut known) => {
                known.get_mut().push(task);
                known.index()
            }
            Entry::Vacant(new) => {
                let index = new.index();
                new.insert(vec![task]);
                index
            }
        });
    }
    let mut seen = FxHashSet::default();
    let ends = edges.iter().map(|(from, to, join)| (box_of[*from], box_of[*to], join));
    let edges = ends
        .filter(|&(from, to, _)| from != to && seen.insert((from, to)))
        .map(|(a, b, join)| (a, b, join.clone()));
    Graph {
        edges: edges.collect(),
        boxes: boxes.into_iter().map(|(key, tasks)| Box { label: label(&key), tasks }).collect(),
        reduced: false,
        collapsed: true,
    }
}

/// The edges that no path over other edges implies.
fn reduce(count: usize, edges: &[(usize, usize, Text)]) -> Vec<(usize, usize, Text)> {
    let words = count.div_ceil(64);
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); count];
    edges.iter().enumerate().for_each(|(at, &(_, to, _))| into[to].push(at));
    let mut waits: Vec<usize> = into.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    edges.iter().for_each(|&(from, to, _)| after[from].push(to));
    let mut ready: Vec<usize> = (0..count).filter(|&at| waits[at] == 0).collect();
    let mut position = vec![0; count];
    let mut upstream = vec![0u64; count * words];
    let mut keep = vec![false; edges.len()];
    let mut next = 0;
    while let Some(&at) = ready.get(next) {
        position[at] = next;
        next += 1;
        // The nearest first: what it waits for need not be said again.
        into[at].sort_unstable_by_key(|&edge| std::cmp::Reverse(position[edges[edge].0]));
        for &edge in &into[at] {
            let from = edges[edge].0;
            if upstream[at * words + from / 64] >> (from % 64) & 1 == 1 {
                continue;
            }
            keep[edge] = true;
            upstream[at * words + from / 64] |= 1 << (from % 64);
            for word in 0..words {
                upstream[at * words + word] |= upstream[from * words + word];
            }
        }
        for &to in &after[at] {
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    edges.iter().zip(keep).filter(|(_, keep)| *keep).map(|(edge, _)| edge.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tasks named by number; each entry lists what a task depends on.
    fn tasks(depends_on: impl IntoIterator<Item = Vec<usize>>) -> Vec<TaskDocument> {
        let task = |(at, depends_on): (usize, Vec<usize>)| {
            let depends_on: Vec<String> = depends_on.iter().map(|at| format!("t{at}")).collect();
            serde_json::from_value(serde_json::json!({
                "name": format!("t{at}"), "kind": "command", "stage": "main", "required": true,
                "depends_on": depends_on, "join": "all",
            }))
            .expect("a task")
        };
        depends_on.into_iter().enumerate().map(task).collect()
    }

    fn drawn(tasks: &[TaskDocument]) -> Graph {
        let graph = graph(tasks, |_| true);
        let pairs: Vec<(usize, usize)> = graph.edges.iter().map(|&(from, to, _)| (from, to)).collect();
        let layer = layout::layers(graph.boxes.len(), &pairs);
        assert!(pairs.iter().all(|&(from, to)| layer[from] < layer[to]), "the picture has a cycle");
        assert!(graph.boxes.len() <= MOST_BOXES && graph.edges.len() <= MOST_EDGES);
        assert_eq!(graph.boxes.iter().map(|one| one.tasks.len()).sum::<usize>(), tasks.len());
        graph
    }

    #[test]
    fn a_small_plan_is_drawn_as_it_is() {
        let graph = drawn(&tasks([vec![], vec![0], vec![0, 1]]));
        assert_eq!((graph.boxes.len(), graph.edges.len(), graph.collapsed), (3, 3, false));
    }

    #[test]
    fn a_dense_plan_loses_edges_that_others_imply() {
        let graph = drawn(&tasks((0..60).map(|at| (0..at).collect())));
        assert_eq!((graph.boxes.len(), graph.edges.len(), graph.reduced), (60, 59, true));
    }

    #[test]
    fn a_large_plan_is_drawn_by_layers() {
        let layers = drawn(&tasks((0..3000).map(|at| if at < 300 { vec![] } else { vec![at - 300] })));
        assert_eq!((layers.boxes.len(), layers.edges.len(), layers.collapsed), (10, 9, true));
        let chain = drawn(&tasks((0..3001).map(|at: usize| at.checked_sub(1).into_iter().collect())));
        assert_eq!(chain.boxes.len(), 97);
        assert_eq!(chain.boxes[1].label, "layers 32 to 62");
        // Too many edges between few boxes.
        let full = drawn(&tasks((0..200).map(|at| if at < 100 { vec![] } else { (0..100).collect() })));
        assert_eq!((full.boxes.len(), full.edges.len()), (2, 1));
    }

    #[test]
    fn groups_stay_apart_within_a_layer() {
        let mut all = tasks((0..400).map(|at| if at < 200 { vec![] } else { vec![at - 200] }));
        for (at, task) in all.iter_mut().enumerate() {
            task.group = (at % 2 == 0).then(|| "even".into());
        }
        let graph = drawn(&all);
        let labels: Vec<&str> = graph.boxes.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(labels, ["even, layer 1", "layer 1", "even, layer 2", "layer 2"]);
        assert_eq!(graph.edges.len(), 2);
    }
}
