//! Oracles and official clients of each release.

mod v0_1 {
    agenthost_oracles::official! {
        Release: ahp_v0_1, ahp_types_v0_1;
        states {
            Root by apply_action_to_root,
            Session by apply_action_to_session,
            Terminal by apply_action_to_terminal,
        }
        documents {
            "result/initialize": commands::InitializeResult,
            "result/reconnect": commands::ReconnectResult,
            "result/subscribe": commands::SubscribeResult,
            "result/listSessions": commands::ListSessionsResult,
            "result/fetchTurns": commands::FetchTurnsResult,
            "result/resolveSessionConfig": commands::ResolveSessionConfigResult,
            "result/sessionConfigCompletions": commands::SessionConfigCompletionsResult,
            "result/resourceRead": commands::ResourceReadResult,
            "result/resourceList": commands::ResourceListResult,
            "notification/notification": messages::NotificationMethodParams,
            "params/resourceRead": commands::ResourceReadParams,
            "params/resourceWrite": commands::ResourceWriteParams,
            "params/resourceList": commands::ResourceListParams,
            "params/resourceCopy": commands::ResourceCopyParams,
            "params/resourceDelete": commands::ResourceDeleteParams,
            "params/resourceMove": commands::ResourceMoveParams,
        }
    }

    agenthost_oracles::live!(Client: ahp_v0_1, ahp_types_v0_1, numbered);
}

mod v0_2 {
    agenthost_oracles::official_with_channels! {
        Release: ahp_v0_2, ahp_types_v0_2;
        states { Changeset, }
        documents { "result/fetchTurns": commands::FetchTurnsResult, }
    }

    agenthost_oracles::live!(Client: ahp_v0_2, ahp_types_v0_2, channels);
}

mod v0_3 {
    agenthost_oracles::official_with_channels! {
        Release: ahp_v0_3, ahp_types_v0_3;
        states { Changeset, }
        documents { "result/fetchTurns": commands::FetchTurnsResult, }
    }

    agenthost_oracles::live!(Client: ahp_v0_3, ahp_types_v0_3, channels);
}

mod v0_4 {
    agenthost_oracles::official_with_chats! {
        Release: ahp_v0_4, ahp_types_v0_4;
        states {}
        documents { "result/fetchTurns": commands::FetchTurnsResult, }
    }

    agenthost_oracles::live!(Client: ahp_v0_4, ahp_types_v0_4, channels);
}

mod v0_5_2 {
    agenthost_oracles::official_with_chats! {
        Release: ahp_v0_5_2, ahp_types_v0_5_2;
        states {}
        documents { "notification/root/progress": notifications::ProgressParams, }
    }

    agenthost_oracles::live!(Client: ahp_v0_5_2, ahp_types_v0_5_2, channels);
}

mod v0_6 {
    agenthost_oracles::official_with_chats! {
        Release: ahp_v0_6, ahp_types_v0_6;
        states {}
        documents { "notification/root/progress": notifications::ProgressParams, }
    }

    agenthost_oracles::live!(Client: ahp_v0_6, ahp_types_v0_6, channels);
}

mod v0_7 {
    agenthost_oracles::official_with_chats! {
        Release: ahp_v0_7, ahp_types_v0_7;
        states {}
        documents { "notification/root/progress": notifications::ProgressParams, }
    }

    agenthost_oracles::live!(Client: ahp_v0_7, ahp_types_v0_7, channels);
}

mod v0_8 {
    agenthost_oracles::official_with_chats! {
        Release: ahp_v0_8, ahp_types_v0_8;
        states {}
        documents { "notification/root/progress": notifications::ProgressParams, }
    }

    agenthost_oracles::live!(Client: ahp_v0_8, ahp_types_v0_8, channels);
}

mod v0_9 {
    agenthost_oracles::official_with_chats! {
        Release: ahp_v0_9, ahp_types_v0_9;
        states {
            Automations by apply_action_to_automation,
            AutomationRun by apply_action_to_automation_run,
        }
        documents {
            "notification/root/progress": notifications::ProgressParams,
            "result/listAutomationTriggerDefinitions": commands::ListAutomationTriggerDefinitionsResult,
            "result/runAutomation": commands::RunAutomationResult,
        }
    }

    agenthost_oracles::live!(Client: ahp_v0_9, ahp_types_v0_9, channels);
}

mod v1_0 {
    agenthost_oracles::official_with_chats! {
        Release: ahp, ahp_types;
        states {
            Automations by apply_action_to_automation,
            AutomationRun by apply_action_to_automation_run,
            Canvas by apply_action_to_canvas,
        }
        documents {
            "notification/root/progress": notifications::ProgressParams,
            "result/listAutomationTriggerDefinitions": commands::ListAutomationTriggerDefinitionsResult,
            "result/runAutomation": commands::RunAutomationResult,
            "result/moveChat": commands::MoveChatResult,
        }
    }

    agenthost_oracles::live!(Client: ahp, ahp_types, channels);
}

use std::path::{Path, PathBuf};
use std::process::Command;

use agenthost_oracles::{OfficialClient, Oracle, RemoteOracle};
use agenthost_protocol::version::Release;

/// Returns the oracle of a release, or prints a message and returns `None` if its crates can't be
/// downloaded.
pub(crate) fn oracle(release: Release) -> Option<Box<dyn Oracle>> {
    Some(match release {
        Release::V0_1 => Box::new(v0_1::Release::default()),
        Release::V0_2 => Box::new(v0_2::Release::default()),
        Release::V0_3 => Box::new(v0_3::Release::default()),
        Release::V0_4 => Box::new(v0_4::Release::default()),
        Release::V0_5_0 => Box::new(alone("v0_5_0")?),
        Release::V0_5_1 => Box::new(alone("v0_5_1")?),
        Release::V0_5_2 => Box::new(v0_5_2::Release::default()),
        Release::V0_6 => Box::new(v0_6::Release::default()),
        Release::V0_7 => Box::new(v0_7::Release::default()),
        Release::V0_8 => Box::new(v0_8::Release::default()),
        Release::V0_9 => Box::new(v0_9::Release::default()),
        Release::V1_0 => Box::new(v1_0::Release::default()),
    })
}

/// Returns the client of a release, or prints a message and returns `None` if its crates can't be
/// downloaded.
pub(crate) fn client(release: Release) -> Option<Box<dyn OfficialClient>> {
    Some(match release {
        Release::V0_1 => Box::new(v0_1::Client::default()),
        Release::V0_2 => Box::new(v0_2::Client::default()),
        Release::V0_3 => Box::new(v0_3::Client::default()),
        Release::V0_4 => Box::new(v0_4::Client::default()),
        Release::V0_5_0 => Box::new(alone("v0_5_0")?),
        Release::V0_5_1 => Box::new(alone("v0_5_1")?),
        Release::V0_5_2 => Box::new(v0_5_2::Client::default()),
        Release::V0_6 => Box::new(v0_6::Client::default()),
        Release::V0_7 => Box::new(v0_7::Client::default()),
        Release::V0_8 => Box::new(v0_8::Client::default()),
        Release::V0_9 => Box::new(v0_9::Client::default()),
        Release::V1_0 => Box::new(v1_0::Client::default()),
    })
}

/// Builds and starts the separate program of a release that can't be linked together with the
/// others.
fn alone(name: &str) -> Option<RemoteOracle> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("alone")
        .join(name);
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("alone");
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--quiet", "--manifest-path"])
        .arg(manifest.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .output()
        .unwrap();
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        // The test is skipped if the crates can't be downloaded; any other error is a failure.
        assert!(
            said.contains("download") || said.contains("offline"),
            "{said}"
        );
        println!("{name} is skipped, its crates can't be had: {said}");
        return None;
    }
    let program = format!(
        "oracle-{}{}",
        name.replace('_', "-"),
        std::env::consts::EXE_SUFFIX
    );
    Some(RemoteOracle::start(&target.join("debug").join(program)).unwrap())
}

/// Defines a test for each release.
macro_rules! each_release {
    ($check:ident) => {
        each_release! { $check:
            to_0_1 V0_1, to_0_2 V0_2, to_0_3 V0_3, to_0_4 V0_4, to_0_5_0 V0_5_0, to_0_5_1 V0_5_1,
            to_0_5_2 V0_5_2, to_0_6 V0_6, to_0_7 V0_7, to_0_8 V0_8, to_0_9 V0_9, to_1_0 V1_0,
        }
    };
    ($check:ident: $($name:ident $release:ident,)*) => {$(
        #[test]
        fn $name() {
            $check(agenthost_protocol::version::Release::$release);
        }
    )*};
}

pub(crate) use each_release;

/// Returns the number of seeds: `SEEDS` in the environment, or `usual`.
pub(crate) fn seeds(usual: u64) -> u64 {
    let wanted = std::env::var("SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    wanted.unwrap_or(usual)
}
