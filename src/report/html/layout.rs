//! Places the boxes of a layered graph: left to right by longest path, each layer ordered by the mean of
//! its neighbours, then moved as near to them as its order allows.
//!
//! The same graph always comes out the same. Unaware of what the boxes show. The work is linear in boxes
//! and edges for each of a fixed number of sweeps, but for the sorting inside a layer.

/// How often the order of the layers is improved, there and back.
const ORDER_SWEEPS: usize = 8;

/// How often boxes are moved towards their neighbours, there and back.
const PLACE_SWEEPS: usize = 6;

/// Between two layers.
const LAYER_GAP: f64 = 56.0;

/// Between two boxes of a layer.
const BOX_GAP: f64 = 14.0;

/// Between two edges that pass a layer, and between such an edge and a box.
const EDGE_GAP: f64 = 10.0;

/// An edge that rises or falls by less than this looks like a mistake.
const NEARLY_LEVEL: f64 = 12.0;

/// A point of the picture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A graph with its places.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The middle of each box's left side.
    pub(super) boxes: Vec<Point>,
    /// The points that each edge passes, from box to box.
    pub(super) edges: Vec<Vec<Point>>,
    /// The size of the whole.
    pub(super) width: f64,
    /// The size of the whole.
    pub(super) height: f64,
}

/// The layer of each of `count` boxes: one more than that of the furthest box before it. A box with nothing
/// before it stands right before the nearest one that follows.
pub(super) fn layers(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let after = adjacency(count, edges.iter().copied());
    let mut waits = vec![0usize; count];
    edges.iter().for_each(|&(_, to)| waits[to] += 1);
    let first: Vec<usize> = (0..count).filter(|&at| waits[at] == 0).collect();
    let mut layer = vec![0; count];
    let mut ready = first.clone();
    while let Some(at) = ready.pop() {
        for &next in &after[at] {
            layer[next] = layer[next].max(layer[at] + 1);
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.push(next);
            }
        }
    }
    for at in first {
        if let Some(nearest) = after[at].iter().map(|&next| layer[next]).min() {
            layer[at] = nearest - 1;
        }
    }
    layer
}

/// Places boxes of these widths and one height. `edges` lead from box to box and make no cycle.
pub(super) fn layout(widths: &[f64], height: f64, edges: &[(usize, usize)]) -> Layout {
    if widths.is_empty() {
        return Layout::default();
    }
    let mut graph = Layered::new(widths.len(), height, edges);
    graph.sort();
    let y = graph.place();
    let mut left = Vec::new();
    let mut x = 0.0;
    for layer in &graph.layers {
        left.push(x);
        x += layer.iter().filter_map(|&at| widths.get(at)).fold(0.0, |most: f64, &width| most.max(width));
        x += LAYER_GAP;
    }
    let place = |at: usize| Point { x: left[graph.layer[at]], y: y[at] };
    let boxes: Vec<Point> = (0..widths.len()).map(place).collect();
    let widest = |layer: usize| left.get(layer + 1).copied().unwrap_or(x) - LAYER_GAP;
    let lines = graph.paths.iter().zip(edges).map(|(path, &(from, to))| {
        let mut points = vec![Point { x: boxes[from].x + widths[from], y: boxes[from].y }];
        if boxes[from].x + widths[from] < widest(graph.layer[from]) {
            points.push(Point { x: widest(graph.layer[from]), y: boxes[from].y });
        }
        for &passed in path {
            let Point { x, y } = place(passed);
            points.push(Point { x, y });
            points.push(Point { x: widest(graph.layer[passed]), y });
        }
        points.push(boxes[to]);
        points
    });
    let low = y.iter().copied().fold(0.0, f64::max);
    Layout { edges: lines.collect(), boxes, width: x - LAYER_GAP, height: low + height / 2.0 }
}

/// Boxes, and points where edges pass a layer: these have the numbers after the boxes'.
struct Layered {
    boxes: usize,
    height: f64,
    /// The members of each layer, from top to bottom.
    layers: Vec<Vec<usize>>,
    layer: Vec<usize>,
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
    /// What each edge passes on its way.
    paths: Vec<Vec<usize>>,
}

impl Layered {
    fn new(count: usize, height: f64, edges: &[(usize, usize)]) -> Self {
        let mut layer = layers(count, edges);
        let mut short: Vec<(usize, usize)> = Vec::with_capacity(edges.len());
        let mut paths = Vec::with_capacity(edges.len());
        // Edges that leave the same box pass a layer at the same point.
        let mut passing: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &(from, to) in edges {
            let mut path = Vec::new();
            let mut last = from;
            for step in 0..(layer[to] - layer[from]).saturating_sub(1) {
                let point = match passing[from].get(step) {
                    Some(&point) => point,
                    None => {
                        let point = layer.len();
                        layer.push(layer[from] + step + 1);
                        passing[from].push(point);
                        short.push((last, point));
                        point
                    }
                };
                path.push(point);
                last = point;
            }
            short.push((last, to));
            paths.push(path);
        }
        let after = adjacency(layer.len(), short.iter().copied());
        let before = adjacency(layer.len(), short.iter().map(|&(from, to)| (to, from)));
        let depth = layer.iter().max().map_or(0, |&last| last + 1);
        let mut layers = vec![Vec::new(); depth];
        (0..layer.len()).for_each(|at| layers[layer[at]].push(at));
        Self { boxes: count, height, layers, layer, before, after, paths }
    }

    /// Orders the layers so that few edges cross.
    fn sort(&mut self) {
        let mut best = (self.crossings(), self.layers.clone());
        for sweep in 0..ORDER_SWEEPS {
            if best.0 == 0 {
                break;
            }
            let mut rank = vec![0.0; self.layer.len()];
            let depth = self.layers.len();
            for step in 0..depth {
                let (at, neighbours) =
                    if sweep % 2 == 0 { (step, &self.before) } else { (depth - 1 - step, &self.after) };
                let mut keyed: Vec<(f64, usize)> = self.layers[at]
                    .iter()
                    .enumerate()
                    .map(|(place, &member)| {
                        let own = place as f64;
                        (mean(neighbours[member].iter().map(|&next| rank[next])).unwrap_or(own), member)
                    })
                    .collect();
                // The sort is stable: what has no preference stays where it is.
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                // Ranks are relative, so that layers of different sizes agree on what the middle is.
                let scale = 1000.0 / keyed.len() as f64;
                for (place, &(_, member)) in keyed.iter().enumerate() {
                    rank[member] = (place as f64 + 0.5) * scale;
                }
                self.layers[at] = keyed.into_iter().map(|(_, member)| member).collect();
            }
            let crossings = self.crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// How many pairs of edges cross.
    fn crossings(&self) -> usize {
        let mut place = vec![0; self.layer.len()];
        for layer in &self.layers {
            layer.iter().enumerate().for_each(|(at, &member)| place[member] = at);
        }
        let mut crossings = 0;
        for pair in self.layers.windows(2) {
            let mut ends: Vec<usize> = Vec::new();
            for &from in &pair[0] {
                let start = ends.len();
                ends.extend(self.after[from].iter().map(|&to| place[to]));
                ends[start..].sort_unstable();
            }
            // A Fenwick tree over the right layer counts the ends above each one.
            let mut tree = vec![0usize; pair[1].len() + 1];
            for (seen, &end) in ends.iter().enumerate() {
                let mut above = 0;
                let mut at = end + 1;
                while at > 0 {
                    above += tree[at];
                    at &= at - 1;
                }
                crossings += seen - above;
                at = end + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
        crossings
    }

    /// The height of everything, in the order of the layers.
    fn place(&self) -> Vec<f64> {
        let mut y = vec![0.0; self.layer.len()];
        for layer in &self.layers {
            let wanted = vec![0.0; layer.len()];
            self.settle(layer, &wanted, &mut y);
        }
        for sweep in 0..2 * PLACE_SWEEPS {
            let depth = self.layers.len();
            for step in 0..depth {
                let at = if sweep % 2 == 0 { step } else { depth - 1 - step };
                let last = sweep + 2 >= 2 * PLACE_SWEEPS;
                let wanted: Vec<f64> = self.layers[at]
                    .iter()
                    .map(|&member| {
                        let (before, after) = (&self.before[member], &self.after[member]);
                        let sides: &[&Vec<usize>] = match (last, sweep % 2 == 0) {
                            (true, _) => &[before, after],
                            (false, true) => &[before],
                            (false, false) => &[after],
                        };
                        mean(sides.iter().flat_map(|side| side.iter()).map(|&next| y[next]))
                            .unwrap_or(y[member])
                    })
                    .collect();
                self.settle(&self.layers[at], &wanted, &mut y);
            }
        }
        self.straighten(&mut y);
        let top = (0..self.boxes).map(|at| y[at] - self.height / 2.0);
        let top = y[self.boxes..].iter().copied().chain(top).fold(f64::INFINITY, f64::min);
        y.iter_mut().for_each(|y| *y = ((*y - top) * 2.0).round() / 2.0);
        y
    }

    /// Levels edges that are nearly level.
    fn straighten(&self, y: &mut [f64]) {
        for layer in &self.layers {
            let wanted: Vec<f64> = layer
                .iter()
                .map(|&member| {
                    let off = |&&at: &&usize| (y[at] - y[member]).abs();
                    let nearest = self.before[member].iter().min_by(|a, b| off(a).total_cmp(&off(b)));
                    nearest.filter(|at| off(at) < NEARLY_LEVEL).map_or(y[member], |&at| y[at])
                })
                .collect();
            self.settle(layer, &wanted, y);
        }
    }

    /// Puts the members of a layer as near to where they want to be as their order and gaps allow: the least
    /// sum of squares, by pooling neighbours that are in each other's way.
    fn settle(&self, layer: &[usize], wanted: &[f64], y: &mut [f64]) {
        let mut offset = 0.0;
        let mut pools: Vec<(f64, f64, usize)> = Vec::with_capacity(layer.len());
        let mut offsets = Vec::with_capacity(layer.len());
        for (at, &member) in layer.iter().enumerate() {
            if at > 0 {
                offset += self.gap(layer[at - 1], member);
            }
            offsets.push(offset);
            // A passing edge pulls harder, so that it becomes a straight line.
            let weight = if member < self.boxes { 1.0 } else { 4.0 };
            let mut pool = (wanted[at] - offset, weight, 1);
            while let Some(&(mean, total, count)) = pools.last() {
                if mean < pool.0 {
                    break;
                }
                pools.pop();
                let weight = total + pool.1;
                pool = ((mean * total + pool.0 * pool.1) / weight, weight, count + pool.2);
            }
            pools.push(pool);
        }
        let means = pools.iter().flat_map(|&(mean, _, count)| std::iter::repeat_n(mean, count));
        for ((&member, offset), mean) in layer.iter().zip(offsets).zip(means) {
            y[member] = mean + offset;
        }
    }

    /// How far apart the middles of two neighbours have to be.
    fn gap(&self, above: usize, below: usize) -> f64 {
        match (above < self.boxes, below < self.boxes) {
            (true, true) => self.height + BOX_GAP,
            (false, false) => EDGE_GAP,
            (true, false) | (false, true) => self.height / 2.0 + EDGE_GAP,
        }
    }
}

fn adjacency(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new(); count];
    edges.for_each(|(from, to)| lists[from].push(to));
    lists
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEIGHT: f64 = 40.0;

    fn laid(count: usize, edges: &[(usize, usize)]) -> Layout {
        layout(&vec![100.0; count], HEIGHT, edges)
    }

    /// No two boxes overlap and every edge goes from left to right.
    fn sound(layout: &Layout) {
        for (at, a) in layout.boxes.iter().enumerate() {
            assert!(a.y >= HEIGHT / 2.0 && a.y + HEIGHT / 2.0 <= layout.height, "{a:?} {}", layout.height);
            for b in &layout.boxes[at + 1..] {
                assert!((a.x - b.x).abs() > 1.0 || (a.y - b.y).abs() >= HEIGHT, "{a:?} on {b:?}");
            }
        }
        for edge in &layout.edges {
            assert!(edge.windows(2).all(|pair| pair[0].x <= pair[1].x), "{edge:?}");
        }
    }

    #[test]
    fn a_diamond_is_symmetric() {
        let layout = laid(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
        sound(&layout);
        assert_eq!(layout.boxes[0].y, layout.boxes[3].y);
        assert_eq!(layout.boxes[0].y * 2.0, layout.boxes[1].y + layout.boxes[2].y);
    }

    #[test]
    fn a_chain_is_straight_and_a_long_edge_goes_around() {
        let layout = laid(4, &[(0, 1), (1, 2), (2, 3), (0, 3)]);
        sound(&layout);
        assert_eq!(layout.edges[3].len(), 6);
        let passes = layout.edges[3][1].y;
        assert!(layout.boxes[1..3].iter().all(|at| (at.y - passes).abs() >= HEIGHT / 2.0 + EDGE_GAP - 0.5));
    }

    #[test]
    fn what_waits_for_nothing_stands_before_what_needs_it() {
        assert_eq!(layers(4, &[(0, 1), (1, 2), (3, 2)]), [0, 1, 2, 1]);
        assert_eq!(layers(2, &[]), [0, 0]);
    }

    #[test]
    fn crossings_that_can_be_avoided_are() {
        let mut graph = Layered::new(6, HEIGHT, &[(0, 5), (1, 4), (2, 3)]);
        assert_eq!(graph.crossings(), 3);
        graph.sort();
        assert_eq!(graph.crossings(), 0);
    }

    #[test]
    fn the_same_graph_comes_out_the_same_and_soon() {
        // Every box needs three of the layer before, scattered; and some skip layers.
        let edges: Vec<(usize, usize)> = (20..300)
            .flat_map(|to| [1, 7, 13].map(|by| ((to / 20 - 1) * 20 + (to * by) % 20, to)))
            .chain((60..300).step_by(7).map(|to| (to % 20, to)))
            .collect();
        let (a, b) = (laid(300, &edges), laid(300, &edges));
        sound(&a);
        assert_eq!(a.boxes, b.boxes);
        assert_eq!(a.edges, b.edges);
    }
}
