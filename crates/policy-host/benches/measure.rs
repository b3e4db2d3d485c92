//! A criterion measurement whose value is the ratio of two times. Both are measured in every iteration, so that other
//! load on the machine affects both.

use std::collections::BTreeMap;
use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, SamplingMode, Throughput};
use rustix::time::{ClockId, clock_gettime};
use serde::de::IgnoredAny;

/// Runs something once and returns the time, without the time for its preparation.
pub(crate) type Run<'a> = &'a dyn Fn() -> Duration;

/// The minimum times of two operations that ran in turns.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    /// The time of the baseline.
    pub(crate) beside: Duration,
    /// The time of the measured operation.
    pub(crate) time: Duration,
}

impl Pair {
    pub(crate) fn times(self) -> f64 {
        self.time.as_secs_f64() / self.beside.as_secs_f64()
    }
}

/// All measurements.
pub(crate) struct Measurements {
    criterion: Criterion<Times>,
    pairs: BTreeMap<(String, String), Pair>,
    is_complete: bool,
}

impl Measurements {
    pub(crate) fn new() -> Self {
        // The ratios of one run vary little. Those of different runs vary more; use baselines to compare them.
        let criterion = Criterion::default()
            .with_measurement(Times)
            .sample_size(10)
            .nresamples(10_000)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_secs(5))
            .configure_from_args();
        Self {
            criterion,
            pairs: BTreeMap::new(),
            is_complete: true,
        }
    }

    /// Measures an operation and its baseline, unless the filter on the command line excludes it.
    pub(crate) fn run(&mut self, group: &str, name: &str, beside: Run<'_>, run: Run<'_>) {
        let mut least = Pair {
            beside: Duration::MAX,
            time: Duration::MAX,
        };
        let mut series = self.criterion.benchmark_group(group);
        series
            .sampling_mode(SamplingMode::Flat)
            .bench_function(name, |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut sum = 0.0;
                    for _ in 0..iterations {
                        let pair = Pair {
                            beside: beside(),
                            time: run(),
                        };
                        least.beside = least.beside.min(pair.beside);
                        least.time = least.time.min(pair.time);
                        sum += pair.times();
                    }
                    sum
                });
            });
        series.finish();
        if least.time < Duration::MAX {
            self.pairs
                .insert((group.to_owned(), name.to_owned()), least);
        } else {
            self.is_complete = false;
        }
    }

    /// Whether the filter on the command line excluded nothing.
    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub(crate) fn get(&self, group: &str, name: &str) -> Option<Pair> {
        self.pairs
            .get(&(group.to_owned(), name.to_owned()))
            .copied()
    }
}

/// The CPU time that an operation uses on this thread. Other load affects it less than the wall-clock time.
pub(crate) fn timed(run: impl FnOnce()) -> Duration {
    let busy = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(
            time.tv_sec.try_into().unwrap(),
            time.tv_nsec.try_into().unwrap(),
        )
    };
    let begun = busy();
    run();
    busy().saturating_sub(begun)
}

/// The time in which `serde_json` skips documents. Small ones are skipped many times, because reading the clock also
/// takes time.
pub(crate) fn skip(documents: &[&[u8]]) -> Duration {
    let bytes: usize = documents.iter().map(|document| document.len()).sum();
    let repeats = 1 + 100_000 / (bytes as u32 + 1);
    timed(|| {
        for document in (0..repeats).flat_map(|_| documents) {
            let IgnoredAny = serde_json::from_slice(std::hint::black_box(document)).unwrap();
        }
    }) / repeats
}

/// The values are ratios.
pub(crate) struct Times;

impl Measurement for Times {
    type Intermediate = ();
    type Value = f64;

    // These two methods are for `Bencher::iter`, which is not used.
    fn start(&self) {}

    fn end(&self, (): ()) -> f64 {
        0.0
    }

    fn add(&self, one: &f64, other: &f64) -> f64 {
        one + other
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Self
    }
}

impl ValueFormatter for Times {
    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        "times"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "times"
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        "times"
    }
}
