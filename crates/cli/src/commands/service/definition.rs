//! The files that define the service, as text.

use anyhow::bail;

/// Name of the systemd user unit.
pub(super) const SYSTEMD_UNIT: &str = "agenthost.service";

/// Label of the launchd agent.
pub(super) const LAUNCHD_LABEL: &str = "dev.agenthost.host";

/// Returns the systemd user unit that runs a command line.
///
/// The restrictions are those that agents do not notice: they have to write to projects, use the
/// network and start programs. `NoNewPrivileges` also ends `sudo` in agents and terminals. systemd
/// signals the host alone, which ends its runner; after a crash of the host, the runner goes on.
pub(super) fn systemd_unit(words: &[String], path: &str) -> anyhow::Result<String> {
    let words: Vec<_> = words.iter().map(|word| quote_systemd(word)).collect();
    let command = words.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let path = quote_systemd(&format!("PATH={path}"))?;
    Ok(format!(
        "[Unit]
Description=agenthost, a host for coding agents

[Service]
Type=exec
ExecStart={}
Environment={path}
Restart=on-failure
RestartSec=1
KillMode=process
TimeoutStopSec=20
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
",
        command.join(" ")
    ))
}

/// Quotes a word for systemd, which expands `%` and `$` also in quotes.
fn quote_systemd(word: &str) -> anyhow::Result<String> {
    if word.chars().any(char::is_control) {
        bail!("a service cannot have control characters in its options: {word:?}");
    }
    let escaped = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', "$$");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@+".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Ok(escaped);
    }
    Ok(format!("\"{escaped}\""))
}

/// Returns the launchd agent that runs a command line.
pub(super) fn launchd_agent(words: &[String], path: &str) -> anyhow::Result<String> {
    let mut arguments = String::new();
    for word in words {
        if word.chars().any(char::is_control) {
            bail!("a service cannot have control characters in its options: {word:?}");
        }
        arguments.push_str(&format!("    <string>{}</string>\n", escape_xml(word)));
    }
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{LAUNCHD_LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{arguments}  </array>
  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>{}</string>
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
",
        escape_xml(path)
    ))
}

fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_systemd_unit_quotes_its_arguments() {
        let words = words(&[
            "/opt/my programs/agenthost",
            "serve",
            "--socket",
            "/run/$a%b\"c\\d",
        ]);
        let unit = systemd_unit(&words, "/usr/bin:/home/me/50%/bin").unwrap();
        let lines: Vec<_> = unit
            .lines()
            .filter(|line| line.starts_with("ExecStart") || line.starts_with("Environment"))
            .collect();
        expect![[r#"
            ExecStart="/opt/my programs/agenthost" serve --socket "/run/$$a%%b\"c\\d"
            Environment="PATH=/usr/bin:/home/me/50%%/bin""#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn options_cannot_add_lines_to_a_service() {
        let attack = words(&["agenthost", "serve\nExecStartPre=/bin/evil"]);
        assert!(systemd_unit(&attack, "").is_err());
        assert!(launchd_agent(&attack, "").is_err());
    }

    #[test]
    fn a_launchd_agent_escapes_its_arguments() {
        let agent = launchd_agent(&words(&["a", "<b>&"]), "/usr/bin").unwrap();
        assert!(agent.contains("    <string>a</string>\n    <string>&lt;b&gt;&amp;</string>\n"));
    }
}
