//! The picture docs/growth.svg: time over nodes, on logarithmic axes. The colors fit light and dark pages; those of
//! plotters do not, because it writes each color where it is used.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::measure::Measurements;
use crate::{NODES, tables};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// The position of the axes: left, top, right, bottom.
const FRAME: [f64; 4] = [70.0, 20.0, WIDTH - 20.0, HEIGHT - 50.0];
/// Decades: nodes from 10 to 10^4.5, times from 10 µs to 10 s.
const X: [f64; 2] = [1.0, 4.5];
const Y: [f64; 2] = [-5.0, 0.5];

const STYLE: &str = "
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .usual { stroke: #cf222e; fill: #cf222e } .affinity { stroke: #bf8700; fill: #bf8700 }
  .policy { stroke: #0969da; fill: #0969da } .blind { stroke: #8250df; fill: #8250df }
  .native { stroke: #1a7f37; fill: #1a7f37 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .grid { stroke: #3d444d }
    .usual { stroke: #ff7b72; fill: #ff7b72 } .affinity { stroke: #e3b341; fill: #e3b341 }
    .policy { stroke: #58a6ff; fill: #58a6ff } .blind { stroke: #bc8cff; fill: #bc8cff }
    .native { stroke: #56d364; fill: #56d364 }
  }
  .line { fill: none; stroke-width: 2.5 }
";

pub(crate) fn write(measured: &Measurements) {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
         <title>Time of an evaluation over the number of nodes</title>\n<style>{STYLE}</style>\n"
    );
    grid(&mut svg);
    // In the order of the lines, from top to bottom.
    let lines = [
        (
            "usual",
            "the usual way: the SDK's typed list",
            tables::USUAL,
        ),
        (
            "affinity",
            "this policy, an affinity of 4 terms",
            tables::AFFINITY,
        ),
        ("policy", "this policy", tables::PLAIN),
        ("blind", "a guest that looks at nothing", tables::BLIND),
    ];
    for (row, (class, legend, name)) in (0_u32..).zip(lines) {
        let time = |count| {
            measured
                .get(&tables::size(count), name)
                .map(|pair| pair.time)
        };
        line(&mut svg, row, class, legend, time);
    }
    let native = |count| {
        let pair = measured.get(&tables::size(count), tables::PLAIN);
        pair.map(|pair| pair.beside)
    };
    line(
        &mut svg,
        4,
        "native",
        "native IgnoredAny over the same bytes",
        native,
    );
    svg.push_str("</svg>\n");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::create_dir_all(&docs).unwrap();
    std::fs::write(docs.join("growth.svg"), svg).unwrap();
}

fn grid(svg: &mut String) {
    let [left, top, right, bottom] = FRAME;
    for (exponent, label) in (-5..=0).zip(["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"]) {
        let y = y(f64::from(exponent));
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            left - 8.0,
            y + 4.5,
        );
    }
    for count in NODES.into_iter().filter(|count| *count > 0) {
        let x = x(count);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{count}</text>",
            bottom + 20.0,
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">nodes</text>",
        f64::midpoint(left, right),
        bottom + 40.0,
    );
}

/// A line through the measured times.
fn line(
    svg: &mut String,
    row: u32,
    class: &str,
    legend: &str,
    time: impl Fn(usize) -> Option<Duration>,
) {
    let mut path = String::new();
    for count in NODES.into_iter().filter(|count| *count > 0) {
        let Some(time) = time(count) else { continue };
        let command = if path.is_empty() { 'M' } else { 'L' };
        let (x, y) = (x(count), y(time.as_secs_f64().log10()));
        let _ = write!(path, "{command}{x:.1} {y:.1}");
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>"
        );
    }
    let legend_y = FRAME[1] + 18.0 + 20.0 * f64::from(row);
    let legend_x = FRAME[0] + 14.0;
    let _ = writeln!(
        svg,
        "<path class=\"line {class}\" d=\"{path}\"/>\
         <path class=\"line {class}\" d=\"M{legend_x} {legend_y}h24\"/>\
         <text x=\"{}\" y=\"{}\">{legend}</text>",
        legend_x + 32.0,
        legend_y + 4.5,
    );
}

fn x(count: usize) -> f64 {
    let [left, _, right, _] = FRAME;
    let [first, last] = X;
    left + (right - left) * ((count as f64).log10() - first) / (last - first)
}

fn y(exponent: f64) -> f64 {
    let [_, top, _, bottom] = FRAME;
    let [first, last] = Y;
    bottom - (bottom - top) * (exponent - first) / (last - first)
}
