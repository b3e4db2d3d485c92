//! The search for the request that costs the most for its size: `make fuzz ONLY=cost`.
//!
//! Not a target of libFuzzer, which looks for code that no input has reached: all of it is reached soon, and what costs is
//! how often. This search keeps what costs more than anything before, by the number in the law itself.

use std::time::{Duration, Instant};

use super::content::{GENERATORS, Generator};
use super::request::{Change, Part, Situation, payload};
use super::{LARGE, SMALL, measure};

/// What a request is made of.
#[derive(Clone)]
struct Recipe {
    /// Kinds of content, each with its share of the request, and after how many items they repeat.
    shares: Vec<(&'static Generator, usize, usize)>,
    bytes: usize,
    situation: Situation,
}

impl Recipe {
    fn random(random: &mut Random) -> Self {
        let mut recipe = Self {
            shares: Vec::new(),
            bytes: LARGE,
            situation: Situation {
                change: Change::Created,
                import: false,
                has_many_nodes: false,
            },
        };
        for _ in 0..4 {
            recipe.change(random);
        }
        recipe
    }

    /// Makes one or a few changes.
    fn change(&mut self, random: &mut Random) {
        const MOST: usize = 5;
        let place = random.below(self.shares.len().max(1));
        match random.below(9) {
            0 => self.situation.import ^= true,
            1 => self.situation.has_many_nodes = random.below(8) == 0,
            2 => {
                let changes = [Change::Created, Change::First, Change::Each];
                self.situation.change = changes[random.below(changes.len())];
            }
            // An object that can be judged again, or one that is judged once.
            8 => self.bytes = [SMALL / 10, SMALL, LARGE][random.below(3)],
            3 if self.shares.len() > 1 => drop(self.shares.remove(place)),
            4 => {
                if let Some((_, share, _)) = self.shares.get_mut(place) {
                    *share = 1 << random.below(7);
                }
            }
            5 => {
                if let Some((.., period)) = self.shares.get_mut(place) {
                    *period = [1, 2, 100, usize::MAX][random.below(4)];
                }
            }
            _ if self.shares.len() < MOST => {
                let generator = &GENERATORS[random.below(GENERATORS.len())];
                self.shares
                    .push((generator, 1 << random.below(7), usize::MAX));
            }
            _ => {}
        }
    }

    fn payload(&self) -> Vec<u8> {
        let all: usize = self.shares.iter().map(|(_, share, _)| share).sum();
        let parts = self.shares.iter().map(|(generator, share, period)| Part {
            period: *period,
            ..Part::of(generator, self.bytes * share / all)
        });
        payload(&parts.collect::<Vec<_>>(), self.situation)
    }
}

impl std::fmt::Display for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Situation {
            change,
            import,
            has_many_nodes,
        } = self.situation;
        write!(
            f,
            "{} bytes, {change:?}, import {import}, many nodes {has_many_nodes}",
            self.bytes
        )?;
        for (generator, share, period) in &self.shares {
            write!(f, "; {share} × {:?}", generator.name)?;
            if *period < usize::MAX {
                write!(f, " repeated after {period}")?;
            }
        }
        Ok(())
    }
}

/// Numbers from a seed.
struct Random(u64);

impl Random {
    /// xorshift64.
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit
    }
}

fn variable(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

#[expect(clippy::print_stdout, reason = "what it found must be seen")]
#[test]
#[ignore = "it searches for SECONDS=60, from SEED"]
fn search() {
    /// The best recipes are kept, and changed.
    const KEPT: usize = 24;
    let mut random = Random(variable("SEED", 1) | 1 << 40);
    let end = Instant::now() + Duration::from_secs(variable("SECONDS", 60));
    let mut best: Vec<(u64, Recipe)> = Vec::new();
    let mut tried = 0;
    while Instant::now() < end {
        // Sometimes from the beginning, because all of the best can be alike.
        let mut recipe = match random.below(10) {
            0 => Recipe::random(&mut random),
            _ if best.len() < KEPT => Recipe::random(&mut random),
            _ => best[random.below(KEPT)].1.clone(),
        };
        for _ in 0..=random.below(3) {
            recipe.change(&mut random);
        }
        if recipe.shares.is_empty() {
            continue;
        }
        tried += 1;
        let request = recipe.payload();
        let cost = measure(&request, recipe.situation);
        best.push((cost.ratio(), recipe));
        best.sort_by_key(|(ratio, _)| u64::MAX - ratio);
        best.truncate(KEPT);
    }
    println!("{tried} requests; the most instructions for each byte:");
    for (ratio, recipe) in best.iter().take(5) {
        println!("{ratio}: {recipe}");
    }
    for (_, recipe) in &best {
        let request = recipe.payload();
        let cost = measure(&request, recipe.situation);
        assert_eq!(cost.breach(), None, "{recipe}");
    }
}
