//! `agenthost status`: shows the running host.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::background::log_files::LogFiles;
use crate::background::running_host::{RunningHost, SessionCounts};
use crate::background::start_record::StartRecord;
use crate::connect::{HostOptions, check_owner};
use crate::output;

/// Show whether the host runs, where, and what it does
///
/// The exit code is 0 if it runs, and 3 if not.
#[derive(clap::Args)]
pub(crate) struct StatusArgs {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    host: HostOptions,
}

/// The exit code if no host is running, as that of `systemctl status`.
const NOT_RUNNING: u8 = 3;

pub(crate) async fn run(arguments: StatusArgs) -> anyhow::Result<ExitCode> {
    let directory = &arguments.host.resolve_data_directory()?;
    check_owner(directory)?;
    let Some(mut host) = RunningHost::find(directory).await? else {
        if arguments.json {
            output::print_data(&json!({ "running": false }).to_string())?;
        } else {
            output::print_note("no host is running; `agenthost start` starts one");
        }
        return Ok(ExitCode::from(NOT_RUNNING));
    };
    let counts = host.count_sessions().await?;
    let storage_problem = host.storage_problem().await?;
    let uptime = host
        .since
        .and_then(|since| SystemTime::now().duration_since(since).ok());
    let log = LogFiles::of(directory).log_path();
    if arguments.json {
        let status = json!({
            "running": true,
            "pid": host.file.pid,
            "version": host.file.version,
            "url": host.file.url,
            "socket": host.file.socket,
            "uptimeSeconds": uptime.map(|uptime| uptime.as_secs()),
            "dataDirectory": directory,
            "log": log.exists().then_some(&log),
            "sessions": counts,
            "storageProblem": storage_problem,
        });
        output::print_data(&status.to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = vec![
        format!(
            "host      agenthost {}, process {}",
            host.file.version, host.file.pid
        ),
        format!("address   {}", host.address()),
        format!("data      {}", directory.display()),
        format!("sessions  {}", describe_sessions(counts)),
    ];
    if let Some(uptime) = uptime {
        lines.insert(1, format!("running   for {}", describe_duration(uptime)));
    }
    if let Some(problem) = storage_problem {
        lines.push(format!(
            "storage   {problem}; changes are refused until there is space"
        ));
    }
    let record = StartRecord::read(directory)?;
    // Another host has written an older log.
    let is_own_log = record.is_some_and(|record| record.pid == host.file.pid);
    if is_own_log && log.exists() {
        lines.push(format!("log       {}", log.display()));
    }
    for line in lines {
        output::print_data(&output::escape_invisible(&line))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn describe_sessions(counts: SessionCounts) -> String {
    let mut text = counts.total.to_string();
    if counts.running > 0 {
        text.push_str(&format!(", {} running", counts.running));
    }
    if counts.waiting > 0 {
        text.push_str(&format!(", {} waiting for an answer", counts.waiting));
    }
    text
}

/// Returns a duration in its two largest units.
fn describe_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        (_, _, _) => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units() {
        let shown = [5, 125, 3_600, 7_384, 86_400 * 3 + 7_200].map(Duration::from_secs);
        assert_eq!(
            shown.map(describe_duration),
            ["5 s", "2 min", "1 h 0 min", "2 h 3 min", "3 d 2 h"]
        );
    }
}
