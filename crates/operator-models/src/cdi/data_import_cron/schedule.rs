//! Schedules, as CDI reads them.

use kube_objects::text::ascii_lower;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// The image is never polled.
    Empty,
    Valid,
    /// Valid for CDI, but it contains a time zone, which a `CronJob` must not have.
    WithTimeZone,
    Invalid,
}

impl Schedule {
    /// Reads a schedule.
    ///
    /// MIRRORS: robfig/cron v3.0.1 parser.go, `ParseStandard`. Without a blank after the time zone, it panics, so the
    /// webhook and the request fail.
    pub fn read(schedule: &str) -> Self {
        if schedule.is_empty() {
            return Self::Empty;
        }
        let zone = schedule.strip_prefix("CRON_").unwrap_or(schedule);
        match zone.strip_prefix("TZ=").map(|zone| zone.split_once(' ')) {
            None if is_valid(schedule) => Self::Valid,
            Some(Some((zone, rest))) if is_time_zone(zone) && is_valid(rest.trim()) => {
                Self::WithTimeZone
            }
            _ => Self::Invalid,
        }
    }
}

/// Whether Go could find a time zone with this name.
///
/// DIVERGES: Go's `time.LoadLocation` looks for a file in the time zone database of CDI's image. This function has no
/// database, so it accepts any place in a known area.
fn is_time_zone(name: &str) -> bool {
    const AREAS: &str = "Africa America Antarctica Arctic Asia Atlantic Australia Brazil Canada Chile Etc Europe \
                         Indian Mexico Pacific US";
    let is_place = |place: &str| {
        !place.is_empty()
            && place
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    match name.strip_prefix("posix/").unwrap_or(name).split_once('/') {
        Some((area, places)) => {
            AREAS.split(' ').any(|known| known == area) && places.split('/').all(is_place)
        }
        None => name.is_empty() || is_place(name),
    }
}

/// A descriptor, or five fields.
fn is_valid(schedule: &str) -> bool {
    if let Some(duration) = schedule.strip_prefix("@every ") {
        return is_duration(duration);
    }
    if schedule.starts_with('@') {
        return DESCRIPTORS.split(' ').any(|known| known == schedule);
    }
    let mut fields = schedule.split_whitespace();
    let are_valid = BOUNDS.iter().all(|bounds| {
        // MIRRORS: robfig/cron v3.0.1 parser.go, getField, which ignores empty ranges between commas.
        fields.next().is_some_and(|field| {
            let mut ranges = field.split(',').filter(|range| !range.is_empty());
            ranges.all(|range| is_range(range, bounds).is_some())
        })
    });
    are_valid && fields.next().is_none()
}

/// MIRRORS: robfig/cron v3.0.1 parser.go, parseDescriptor.
const DESCRIPTORS: &str = "@yearly @annually @monthly @weekly @daily @midnight @hourly";

/// The first and the last number of a field, and names for the numbers from the first one on.
type Bounds = (u64, u64, &'static [&'static str]);

/// MIRRORS: robfig/cron v3.0.1 spec.go: minutes, hours, days of the month, months, and days of the week.
const BOUNDS: [Bounds; 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &MONTHS),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// MIRRORS: robfig/cron v3.0.1 parser.go, getRange, which ignores the rest of the range after a star.
fn is_range(range: &str, (minimum, maximum, names): &Bounds) -> Option<()> {
    let number_or_name = |text: &str| {
        let name = ascii_lower(text);
        let mut named = (*minimum..).zip(*names);
        let found = named.find(|(_, known)| **known == name);
        found.map(|(number, _)| number).or_else(|| number(text))
    };
    let (range, step) = match range.split_once('/') {
        Some((range, step)) => (range, Some(number(step)?)),
        None => (range, None),
    };
    let (low, high) = match range.split_once('-') {
        Some((low, high)) => (low, Some(high)),
        None => (range, None),
    };
    if ["*", "?"].contains(&low) {
        return (step != Some(0)).then_some(());
    }
    let first = number_or_name(low)?;
    let last = match high {
        Some(high) => number_or_name(high)?,
        None if step.is_some() => *maximum,
        None => first,
    };
    (*minimum <= first && first <= last && last <= *maximum && step != Some(0)).then_some(())
}

/// MIRRORS: robfig/cron v3.0.1 parser.go, mustParseInt; Go strconv, `Atoi`: a sign is part of a number.
fn number(text: &str) -> Option<u64> {
    let number: i64 = text.parse().ok()?;
    u64::try_from(number).ok()
}

/// MIRRORS: Go time, `ParseDuration`.
///
/// DIVERGES: Go rejects a duration of more than 292 years.
fn is_duration(text: &str) -> bool {
    const UNITS: [&str; 8] = ["ns", "us", "\u{b5}s", "\u{3bc}s", "ms", "s", "m", "h"];
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_numeric = |c: char| c.is_ascii_digit() || c == '.';
    let parts = |numbers: bool| {
        unsigned
            .split(move |c| is_numeric(c) != numbers)
            .filter(|part| !part.is_empty())
    };
    let are_valid = parts(true).all(|number| number.parse::<f64>().is_ok())
        && parts(false).all(|unit| UNITS.contains(&unit))
        && parts(true).count() == parts(false).count();
    unsigned == "0" || unsigned.starts_with(is_numeric) && are_valid
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_schedule_is_read_as_cdi_reads_it() {
        let invalid_minutes =
            "60 5-1 0-60 */0 */-1 */ 1/2/3 */1/2 1-2-3 -5 5- x 1.5 jan H 99999999999999999999"
                .replace(' ', " * * * *|")
                + " * * * *";
        for (expected, schedules) in [
            (
                Schedule::Valid,
                "0 */12 * * *|  0\t3\u{a0}* * *  |0,30 0-6,22 1-31 jan-Dec SUN-sat|? 7/12 3/5 * *|1-59/2 * * * *\
                 |*/99 *-x-y/3 * * *|, ,1, * * *|+5 0 31 2 *|@yearly|@midnight|@every 1h30m|@every -1.5h|@every .5s\
                 |@every 5.s|@every 0|@every -0|@every 1ns2us3\u{b5}s4\u{3bc}s5ms",
            ),
            (
                Schedule::Invalid,
                " |0 3 * *|0 0 3 * * *|every day|0 24 * * *|0 0 0 * *|0 0 32 * *|0 * 0 *|0 0 * 0 *|0 0 * 13 *\
                 |0 0 * * 7|0 0 L * *|@|@reboot|@Daily|@daily | @daily|@every|@every |@every 5|@every +|@every -+1h\
                 |@every 1d|@every 1h 30m|@every  1h|@every h|@every .h|@every 1.2.3h",
            ),
            (Schedule::Invalid, &invalid_minutes),
            (
                Schedule::WithTimeZone,
                "CRON_TZ=Europe/Prague 0 3 * * *|TZ=America/Argentina/Ushuaia 0 3 * * *|TZ=Etc/GMT+12 0 3 * * *\
                 |TZ= 0 4 * * *|TZ=Local @daily|TZ=UTC   @every 1h  ",
            ),
            (
                Schedule::Invalid,
                "CRON_TZ=Nowhere/City 0 3 * * *|TZ=Europe/ 0 3 * * *|TZ=../etc/passwd 0 3 * * *|TZ=UTC|TZ=UTC \
                 |TZ=UTC\t0 4 * * *|TZ=UTC 0 4 * *|tz=UTC 0 4 * * *| TZ=UTC 0 4 * * *|TZ=UTC TZ=UTC 0 4 * * *\
                 |XTZ=UTC 0 4 * * *",
            ),
        ] {
            for schedule in schedules.split('|') {
                assert_eq!(Schedule::read(schedule), expected, "{schedule}");
            }
        }
    }
}
