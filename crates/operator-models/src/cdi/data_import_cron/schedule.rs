//! Schedules, as CDI reads them.

use kube_objects::text::ascii_lower;

use crate::cdi::data_import_cron::{NeverRuns, Rejection};

/// Why CDI rejects a schedule, or why no image is ever polled with it, if a `CronJob` polls it.
///
/// MIRRORS: robfig/cron v3.0.1 parser.go, `ParseStandard`. Without a blank after the time zone, it panics, so the webhook and
/// the request fail.
pub fn examine(schedule: &str) -> Result<Option<NeverRuns>, Rejection> {
    if schedule.is_empty() {
        return Ok(Some(NeverRuns::ScheduleEmpty));
    }
    let zone = schedule.strip_prefix("CRON_").unwrap_or(schedule);
    match zone.strip_prefix("TZ=").map(|zone| zone.split_once(' ')) {
        None if is_valid(schedule) => Ok(None),
        Some(Some((zone, rest))) if is_time_zone(zone) && is_valid(rest.trim()) => {
            Ok(Some(NeverRuns::TimeZone))
        }
        _ => Err(Rejection::ScheduleInvalid),
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
            field
                .split(',')
                .filter(|range| !range.is_empty())
                .all(|range| is_range(range, bounds).is_some())
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
