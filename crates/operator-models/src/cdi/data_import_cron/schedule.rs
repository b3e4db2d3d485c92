//! Schedules, as CDI reads them.

use kube_objects::text::ascii_lower;

/// The result of CDI's parser for a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// The image is never polled.
    Empty,
    /// Valid.
    Valid,
    /// Valid for CDI, but it contains a time zone, which a `CronJob` must not have.
    WithTimeZone,
    /// CDI rejects it.
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
    let name = name.strip_prefix("posix/").unwrap_or(name);
    let is_place = |place: &str| {
        !place.is_empty()
            && place
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    match name.split_once('/') {
        Some((area, places)) => {
            AREAS.split(' ').any(|known| known == area) && places.split('/').all(is_place)
        }
        None => name.is_empty() || is_place(name),
    }
}

/// A descriptor, or five fields.
fn is_valid(schedule: &str) -> bool {
    if let Some(duration) = schedule.strip_prefix("@every ") {
        return is_duration(duration).is_some();
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
/// DIVERGES: Go includes a fraction when it compares a duration with the maximum of 292 years.
fn is_duration(text: &str) -> Option<()> {
    const LARGEST: u64 = 1 << 63;
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest.is_empty() || rest == "0" {
        return (!rest.is_empty()).then_some(());
    }
    let is_numeric = |c: char| c.is_ascii_digit() || c == '.';
    let mut nanoseconds: u64 = 0;
    while !rest.is_empty() {
        let (number, behind) = rest.split_at_checked(rest.find(|c| !is_numeric(c))?)?;
        let unit_end = behind.find(is_numeric).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(unit_end)?;
        let unit: u64 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if fraction.contains('.') || whole.len() + fraction.len() == 0 {
            return None;
        }
        let whole: u64 = match whole {
            "" => 0,
            whole => whole.parse().ok()?,
        };
        nanoseconds = whole.checked_mul(unit)?.checked_add(nanoseconds)?;
        if nanoseconds > LARGEST {
            return None;
        }
        rest = behind;
    }
    (is_negative || nanoseconds < LARGEST).then_some(())
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[track_caller]
    fn are(expected: Schedule, schedules: &str) {
        for schedule in schedules.split('|') {
            assert_eq!(Schedule::read(schedule), expected, "{schedule}");
        }
    }

    #[test]
    fn five_fields_have_lists_ranges_steps_and_names() {
        are(
            Schedule::Valid,
            "0 */12 * * *|  0\t3\u{a0}* * *  |0,30 0-6,22 1-31 jan-Dec SUN-sat|? 7/12 3/5 * *|1-59/2 * * * *\
             |*/99 *-x-y/3 * * *|, ,1, * * *|+5 0 31 2 *",
        );
        are(Schedule::Invalid, " |0 3 * *|0 0 3 * * *|every day");
        let minutes =
            "60 5-1 0-60 */0 */-1 */ 1/2/3 */1/2 1-2-3 -5 5- x 1.5 jan H 99999999999999999999";
        for minute in minutes.split(' ') {
            are(Schedule::Invalid, &format!("{minute} * * * *"));
        }
        are(
            Schedule::Invalid,
            "0 24 * * *|0 0 0 * *|0 0 32 * *|0 * 0 *|0 0 * 0 *|0 0 * 13 *|0 0 * * 7|0 0 L * *",
        );
    }

    #[test]
    fn descriptors_are_written_exactly_so() {
        are(
            Schedule::Valid,
            "@yearly|@annually|@monthly|@weekly|@daily|@midnight|@hourly",
        );
        are(Schedule::Invalid, "@|@reboot|@Daily|@daily | @daily|@every");
        let valid = "1h30m|-1.5h|.5s|5.s|0|-0|1ns2us3\u{b5}s4\u{3bc}s5ms|9223372036854775807ns|-9223372036854775808ns";
        for duration in valid.split('|') {
            are(Schedule::Valid, &format!("@every {duration}"));
        }
        let invalid = "|5|+|-+1h|1d|1h 30m| 1h|h|.h|1.2.3h|2562048h|9223372036854775808ns|9999999999999999999h";
        for text in invalid.split('|') {
            are(Schedule::Invalid, &format!("@every {text}"));
        }
    }

    #[test]
    fn a_time_zone_needs_a_known_name_and_a_blank_behind_it() {
        are(
            Schedule::WithTimeZone,
            "CRON_TZ=Europe/Prague 0 3 * * *|TZ=America/Argentina/Ushuaia 0 3 * * *|TZ=Etc/GMT+12 0 3 * * *\
             |TZ= 0 4 * * *|TZ=Local @daily|TZ=UTC   @every 1h  ",
        );
        are(
            Schedule::Invalid,
            "CRON_TZ=Nowhere/City 0 3 * * *|TZ=Europe/ 0 3 * * *|TZ=../etc/passwd 0 3 * * *|TZ=UTC|TZ=UTC \
             |TZ=UTC\t0 4 * * *|TZ=UTC 0 4 * *|tz=UTC 0 4 * * *| TZ=UTC 0 4 * * *|TZ=UTC TZ=UTC 0 4 * * *\
             |XTZ=UTC 0 4 * * *",
        );
    }
}
