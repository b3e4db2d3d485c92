//! Schedules, as CDI reads them.

/// What CDI makes of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// The image is never polled.
    Empty,
    /// Valid.
    Valid,
    /// Valid for CDI, but a `CronJob` cannot have a time zone in it.
    WithTimeZone,
    /// CDI rejects it.
    Invalid,
}

impl Schedule {
    /// Reads a schedule.
    pub fn of(schedule: &str) -> Self {
        if schedule.is_empty() {
            return Self::Empty;
        }
        if schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=") {
            return Self::WithTimeZone;
        }
        if schedule.starts_with('@') || schedule.split_whitespace().count() == 5 {
            Self::Valid
        } else {
            Self::Invalid
        }
    }
}
