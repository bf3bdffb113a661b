//! RFC 3339 as milliseconds since 1970.
//!
//! Accepts also years with a sign and six digits, as JavaScript writes them, and times without
//! seconds. A leap second is the second before it.

#[cfg(test)]
mod tests;

/// -009999-01-02T01:59:59.000Z. One day from the limit, so that any offset is in range.
pub(super) const MIN_MS: i64 = -377_705_023_201_000;

/// 9999-12-30T22:00:00.999Z.
pub(super) const MAX_MS: i64 = 253_402_207_200_999;

const DAY_MS: i64 = 86_400_000;

/// Days from 0000-03-01 to 1970-01-01. Years start in March here, so that a leap day is the last
/// day of a year.
const EPOCH_DAY: i64 = 719_468;

/// Days of 400 years, after which the calendar repeats.
const CYCLE_DAYS: i64 = 146_097;

/// Parses a timestamp. Digits after the milliseconds are ignored.
pub(super) fn parse(text: &str) -> Option<i64> {
    let mut reader = Reader(text);
    let year = reader.year()?;
    reader.skip(&['-'])?;
    let month = reader.number(2, 1..=12)?;
    reader.skip(&['-'])?;
    let day = reader.number(2, 1..=days_of_month(year, month))?;
    reader.skip(&['T', 't', ' '])?;
    let hour = reader.number(2, 0..=23)?;
    reader.skip(&[':'])?;
    let minute = reader.number(2, 0..=59)?;
    let mut millis = 0;
    if reader.skip(&[':']).is_some() {
        millis = reader.number(2, 0..=60)?.min(59) * 1000;
        if reader.skip(&['.']).is_some() {
            millis += reader.fraction()?;
        }
    }
    let offset_minutes = reader.offset()?;
    if !reader.0.is_empty() {
        return None;
    }
    let minutes = hour * 60 + minute - offset_minutes;
    let total = day_number(year, month, day) * DAY_MS + minutes * 60_000 + millis;
    (MIN_MS..=MAX_MS).contains(&total).then_some(total)
}

/// Formats a timestamp in UTC with milliseconds.
pub(super) fn format(millis: i64) -> String {
    let (days, time) = (millis.div_euclid(DAY_MS), millis.rem_euclid(DAY_MS));
    let (year, month, day) = date_of(days);
    let year = if year < 0 {
        format!("-{:06}", -year)
    } else {
        format!("{year:04}")
    };
    let (hour, minute) = (time / 3_600_000, time / 60_000 % 60);
    let (second, millis) = (time / 1000 % 60, time % 1000);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

fn days_of_month(year: i64, month: i64) -> i64 {
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap_year),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from 1970-01-01 to a date.
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    // March is 0. Five months from March on have 153 days together, and so the next five.
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    cycle * CYCLE_DAYS + year * 365 + year / 4 - year / 100 + day_of_year - EPOCH_DAY
}

/// Returns year, month and day; the inverse of [`day_number`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAY;
    let (cycle, day) = (days.div_euclid(CYCLE_DAYS), days.rem_euclid(CYCLE_DAYS));
    let leap_days = day / 1460 - day / 36_524 + day / (CYCLE_DAYS - 1);
    let year = (day - leap_days) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = (month + 2) % 12 + 1;
    let year = cycle * 400 + year + i64::from(month < 3);
    (year, month, day)
}

/// The rest of the text.
struct Reader<'t>(&'t str);

impl Reader<'_> {
    fn skip(&mut self, expected: &[char]) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    /// Reads a number with a fixed count of digits.
    fn number(&mut self, digits: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let (number, rest) = self.0.split_at_checked(digits)?;
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.0 = rest;
        number.parse().ok().filter(|number| range.contains(number))
    }

    fn year(&mut self) -> Option<i64> {
        if self.skip(&['-']).is_some() {
            self.number(6, 1..=9999).map(|year| -year)
        } else if self.skip(&['+']).is_some() {
            self.number(6, 0..=9999)
        } else {
            self.number(4, 0..=9999)
        }
    }

    /// Reads one to nine digits of a second, as milliseconds.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !(1..=9).contains(&count) {
            return None;
        }
        self.0 = rest;
        let millis = digits.bytes().chain(*b"00").take(3);
        Some(millis.fold(0, |millis, digit| millis * 10 + i64::from(digit - b'0')))
    }

    /// Reads an offset from UTC in minutes.
    fn offset(&mut self) -> Option<i64> {
        if self.skip(&['Z', 'z']).is_some() {
            return Some(0);
        }
        let sign = if self.skip(&['-']).is_some() { -1 } else { 1 };
        if sign == 1 {
            self.skip(&['+'])?;
        }
        // No offset has so many hours, but hosts have always accepted them.
        let hours = self.number(2, 0..=25)?;
        self.skip(&[':'])?;
        let minutes = self.number(2, 0..=59)?;
        Some(sign * (hours * 60 + minutes))
    }
}
