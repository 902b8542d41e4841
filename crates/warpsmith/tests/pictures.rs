//! Pictures: texts stand in their boxes and on nothing else, edges lead from box to box, dots have names.

mod common;

use common::{model, warpsmith};
use roxmltree::{Document, Node};
use std::fs;

/// A rectangle: left, top, right, bottom.
type Area = [f64; 4];

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    let value = node
        .attribute(name)
        .unwrap_or_else(|| panic!("{name} of {node:?}"));
    value.parse().unwrap_or_else(|_| panic!("{name}: {value}"))
}

fn rect(node: Node<'_, '_>) -> Area {
    let [x, y, w, h] = ["x", "y", "width", "height"].map(|name| number(node, name));
    [x, y, x + w, y + h]
}

/// Where a text stands, by the mean width of a sans-serif font's letters.
fn text_area(node: Node<'_, '_>) -> Area {
    let (x, y, size) = (
        number(node, "x"),
        number(node, "y"),
        number(node, "font-size"),
    );
    let width = node.text().unwrap_or("").chars().count() as f64 * size * 0.55;
    let left = match node.attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    [left, y - size * 0.75, left + width, y + size * 0.2]
}

fn within(inner: Area, outer: Area) -> bool {
    inner[0] >= outer[0] && inner[1] >= outer[1] && inner[2] <= outer[2] && inner[3] <= outer[3]
}

fn meet(a: Area, b: Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

fn of_class<'a, 'i>(document: &'a Document<'i>, class: &str) -> Vec<Node<'a, 'i>> {
    let all = document
        .descendants()
        .filter(|node| node.attribute("class") == Some(class));
    all.collect()
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Vec<Node<'a, 'i>> {
    node.children()
        .filter(|child| child.has_tag_name(name))
        .collect()
}

/// The first and the last point of a path.
fn ends(path: Node<'_, '_>) -> [[f64; 2]; 2] {
    let text = path.attribute("d").expect("a path");
    let numbers = text.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    let numbers: Vec<f64> = numbers
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().expect("a number"))
        .collect();
    let n = numbers.len();
    [[numbers[0], numbers[1]], [numbers[n - 2], numbers[n - 1]]]
}

fn at_border(point: [f64; 2], area: Area) -> bool {
    let inside = |by: f64| {
        within(
            [point[0], point[1], point[0], point[1]],
            [area[0] - by, area[1] - by, area[2] + by, area[3] + by],
        )
    };
    inside(0.3) && !inside(-0.3)
}

/// What holds of every graph's picture; its boxes' titles and its layers' labels.
fn check_graph(svg: &str, what: &str) -> (Vec<String>, Vec<String>) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{what}: {error}"));
    let root = document.root_element();
    let all = [0.0, 0.0, number(root, "width"), number(root, "height")];
    let background = of_class(&document, "background");
    assert_eq!(rect(background[0]), all, "{what}");
    let mut areas = Vec::new();
    let mut titles = Vec::new();
    for class in ["node", "leaf"] {
        for group in of_class(&document, class) {
            let area = rect(child(group, "rect")[0]);
            assert!(within(area, all), "{what}: {area:?}");
            let texts = child(group, "text");
            for text in &texts {
                let own = text_area(*text);
                assert!(
                    within(own, area),
                    "{what}: {:?} leaves its box",
                    text.text()
                );
            }
            for (at, a) in texts.iter().enumerate() {
                for b in &texts[..at] {
                    assert!(
                        !meet(text_area(*a), text_area(*b)),
                        "{what}: {:?}",
                        a.text()
                    );
                }
            }
            if class == "node" {
                titles.push(texts[0].text().expect("a title").to_owned());
            }
            areas.push(area);
        }
    }
    for (at, a) in areas.iter().enumerate() {
        for b in &areas[..at] {
            assert!(!meet(*a, *b), "{what}: {a:?} {b:?}");
        }
    }
    for class in ["edge", "leaf-edge"] {
        let edges = of_class(&document, class);
        assert!(!edges.is_empty(), "{what}: {class}");
        for edge in edges {
            assert!(edge.attribute("marker-end").is_some(), "{what}");
            for point in ends(edge) {
                let found = areas.iter().any(|area| at_border(point, *area));
                assert!(
                    found,
                    "{what}: {point:?} of {:?} is at no box",
                    edge.attribute("d")
                );
            }
        }
    }
    let layers = of_class(&document, "layer").into_iter().map(|group| {
        let (frame, label) = (rect(child(group, "rect")[0]), child(group, "text")[0]);
        assert!(within(text_area(label), frame), "{what}");
        assert!(
            areas.iter().all(|area| !meet(*area, text_area(label))),
            "{what}"
        );
        label.text().expect("a label").to_owned()
    });
    (titles, layers.collect())
}

#[test]
fn a_graph_has_one_layer_with_its_number_and_names_what_comes_from_outside() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    for name in ["tiny-qwen2", "tiny-llama3", "tiny-llama2spm"] {
        for form in ["--plain", "--fused"] {
            let what = format!("{name} {form}");
            let (svg, dot, path) = (file("a.svg"), file("a.dot"), model(name));
            let args = ["graph", "--model", &path, "--device", "virtual", form];
            warpsmith(&[&args[..], &["--svg", &svg, "--dot", &dot]].concat()).ok();
            let svg = fs::read_to_string(&svg).expect("a picture");
            let (titles, layers) = check_graph(&svg, &what);
            let [layer] = &layers[..] else {
                panic!("{what}: {layers:?}")
            };
            let shown = warpsmith(&["inspect", "--json", &path]).json();
            let keys = shown["metadata"].as_object().expect("keys");
            let count = keys.iter().find(|(key, _)| key.ends_with(".block_count"));
            let (_, count) = count.expect("layers");
            assert_eq!(*layer, format!("one layer, {count} times"), "{what}");
            // Embedding, a layer, norm, head, draw: not all layers.
            let most = if form == "--fused" { 10 } else { 24 };
            assert!(
                titles.len() <= most && titles.len() >= 7,
                "{what}: {titles:?}"
            );
            assert_eq!(titles.iter().filter(|title| *title == "draw").count(), 1);
            for leaf in ["token", "position", "length"] {
                assert!(svg.contains(&format!(">{leaf}</text>")), "{what}: {leaf}");
            }
            assert!(svg.contains("blk.*."), "{what}");
            let dot = fs::read_to_string(&dot).expect("a picture");
            assert!(dot.contains(layer.as_str()), "{dot}");
            let (open, close) = (dot.matches('{').count(), dot.matches('}').count());
            assert_eq!(open, close);
            let nodes = dot
                .lines()
                .filter(|line| line.contains("[label=") && !line.contains("->"));
            assert!(nodes.count() >= titles.len(), "{dot}");
        }
    }
}

#[test]
fn dots_of_a_roofline_have_names_that_stand_alone_and_roofs_have_theirs() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("profile");
    let path = model("tiny-llama3");
    let shown = out.display().to_string();
    let args = [
        "profile", "--model", &path, "--device", "virtual", "--out", &shown,
    ];
    warpsmith(&args).ok();
    let svg = fs::read_to_string(out.join("roofline.svg")).expect("a picture");
    let document = Document::parse(&svg).expect("XML");
    let root = document.root_element();
    let all = [0.0, 0.0, number(root, "width"), number(root, "height")];
    let dots = of_class(&document, "dot");
    let labels = of_class(&document, "label");
    assert!(dots.len() > 5);
    assert_eq!(labels.len(), dots.len(), "each dot has its name");
    let areas: Vec<Area> = labels.iter().map(|label| text_area(*label)).collect();
    for (at, a) in areas.iter().enumerate() {
        let name = labels[at].text();
        assert!(within(*a, all), "{name:?}");
        for (b, other) in areas[..at].iter().zip(&labels) {
            assert!(!meet(*a, *b), "{name:?} over {:?}", other.text());
        }
        for dot in &dots {
            let [x, y, r] = ["cx", "cy", "r"].map(|part| number(*dot, part));
            let near = [x.clamp(a[0], a[2]) - x, y.clamp(a[1], a[3]) - y];
            assert!(near[0].hypot(near[1]) >= r - 0.2, "{name:?} lies on a dot");
        }
    }
    let roofs = of_class(&document, "roof");
    let texts: Vec<&str> = roofs.iter().filter_map(|node| node.text()).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].contains("GFLOP/s") && texts[1].contains("GB/s"),
        "{texts:?}"
    );
    for legend in of_class(&document, "legend") {
        let size = legend.attribute("font-size").unwrap_or("12");
        let wide = legend.text().unwrap_or("").chars().count() as f64
            * size.parse::<f64>().expect("a size")
            * 0.55;
        assert!(number(legend, "x") + wide <= all[2], "{:?}", legend.text());
    }
}
