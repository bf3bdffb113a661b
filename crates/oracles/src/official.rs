//! Macros that define an oracle from an official crate.

/// Defines an oracle. The arguments are the name of its type, the crates `ahp` and
/// `ahp-types` of the release, the kinds of states that a snapshot can have, with their
/// reducers, and the other documents, with their types.
#[macro_export]
macro_rules! official {
    (
        $name:ident: $ahp:ident, $types:ident;
        states { $($kind:ident $(by $reducer:ident)?,)* }
        documents { $($what:literal: $module:ident::$type:ident,)* }
    ) => {
        /// The official crate of this release.
        #[derive(Default)]
        pub struct $name {
            held: ::std::collections::BTreeMap<String, $types::state::Snapshot>,
        }

        /// Decodes a snapshot, and fails if it is decoded as another kind.
        fn snapshot(kind: &str, json: &::serde_json::Value) -> Result<$crate::OracleReading, String> {
            let snapshot: Result<$types::state::Snapshot, _> = ::serde_json::from_value(json.clone());
            let snapshot = match snapshot {
                Ok(snapshot) => snapshot,
                Err(error) => {
                    let state = json.get("state").unwrap_or(&::serde_json::Value::Null);
                    // The error of the expected kind is more useful than "no kind matches".
                    $(if kind == stringify!($kind) {
                        $crate::check_state_kind($types::state::SnapshotState::$kind, state)?;
                    })*
                    return Err(error.to_string());
                }
            };
            let found = match &snapshot.state {
                $($types::state::SnapshotState::$kind(_) => stringify!($kind),)*
            };
            if found != kind {
                return Err(format!("{kind} is taken for {found}"));
            }
            $crate::to_reading(&snapshot)
        }

        impl $crate::Oracle for $name {
            fn read(
                &mut self,
                what: &str,
                json: &::serde_json::Value,
            ) -> Result<Option<$crate::OracleReading>, String> {
                if let Some(kind) = what.strip_prefix("snapshot/") {
                    let kinds = [$(stringify!($kind)),*];
                    return if kinds.contains(&kind) {
                        snapshot(kind, json).map(Some)
                    } else {
                        Ok(None)
                    };
                }
                match what {
                    "action" => $crate::read_as::<$types::actions::ActionEnvelope>(json).map(Some),
                    $($what => $crate::read_as::<$types::$module::$type>(json).map(Some),)*
                    _ => Ok(None),
                }
            }

            fn track_channel(&mut self, channel: &str, snapshot: &::serde_json::Value) -> Result<(), String> {
                let snapshot = ::serde_json::from_value(snapshot.clone())
                    .map_err(|error| error.to_string())?;
                self.held.insert(channel.to_owned(), snapshot);
                Ok(())
            }

            fn apply(
                &mut self,
                channel: &str,
                action: &::serde_json::Value,
            ) -> Result<Option<String>, String> {
                let Some(snapshot) = self.held.get_mut(channel) else {
                    return Ok(None);
                };
                let action: $types::actions::StateAction = ::serde_json::from_value(action.clone())
                    .map_err(|error| error.to_string())?;
                let outcome = match &mut snapshot.state {
                    $($($types::state::SnapshotState::$kind(state) => {
                        $ahp::reducers::$reducer(state, &action)
                    })?)*
                    #[allow(unreachable_patterns, reason = "early releases have no reducer for all")]
                    _ => return Ok(None),
                };
                Ok(Some(format!("{outcome:?}")))
            }

            fn tracked_state(&mut self, channel: &str) -> Result<::serde_json::Value, String> {
                let snapshot = self.held.get(channel).ok_or("not followed")?;
                ::serde_json::to_value(&snapshot.state).map_err(|error| error.to_string())
            }
        }
    };
}

/// Defines an oracle of a release that has channels (from 0.2 on), with the documents that
/// all of these releases have.
#[macro_export]
macro_rules! official_with_channels {
    (
        $name:ident: $ahp:ident, $types:ident;
        states { $($states:tt)* }
        documents { $($documents:tt)* }
    ) => {
        $crate::official! {
            $name: $ahp, $types;
            states {
                Root by apply_action_to_root,
                Session by apply_action_to_session,
                Terminal by apply_action_to_terminal,
                $($states)*
            }
            documents {
                "result/initialize": commands::InitializeResult,
                "result/reconnect": commands::ReconnectResult,
                "result/subscribe": commands::SubscribeResult,
                "result/listSessions": commands::ListSessionsResult,
                "result/resolveSessionConfig": commands::ResolveSessionConfigResult,
                "result/sessionConfigCompletions": commands::SessionConfigCompletionsResult,
                "result/completions": commands::CompletionsResult,
                "result/invokeChangesetOperation": commands::InvokeChangesetOperationResult,
                "result/resourceRead": commands::ResourceReadResult,
                "result/resourceList": commands::ResourceListResult,
                "result/resourceResolve": commands::ResourceResolveResult,
                "result/createResourceWatch": commands::CreateResourceWatchResult,
                "notification/root/sessionAdded": notifications::SessionAddedParams,
                "notification/root/sessionRemoved": notifications::SessionRemovedParams,
                "notification/root/sessionSummaryChanged": notifications::SessionSummaryChangedParams,
                "notification/auth/required": notifications::AuthRequiredParams,
                "notification/otlp/exportLogs": notifications::OtlpExportLogsParams,
                "notification/otlp/exportTraces": notifications::OtlpExportTracesParams,
                "notification/otlp/exportMetrics": notifications::OtlpExportMetricsParams,
                "params/resourceRead": commands::ResourceReadParams,
                "params/resourceWrite": commands::ResourceWriteParams,
                "params/resourceList": commands::ResourceListParams,
                "params/resourceCopy": commands::ResourceCopyParams,
                "params/resourceDelete": commands::ResourceDeleteParams,
                "params/resourceMove": commands::ResourceMoveParams,
                "params/resourceResolve": commands::ResourceResolveParams,
                "params/resourceMkdir": commands::ResourceMkdirParams,
                "params/resourceRequest": commands::ResourceRequestParams,
                "params/createResourceWatch": commands::CreateResourceWatchParams,
                $($documents)*
            }
        }
    };
}

/// Defines an oracle of a release that has chats (from 0.4 on).
#[macro_export]
macro_rules! official_with_chats {
    (
        $name:ident: $ahp:ident, $types:ident;
        states { $($states:tt)* }
        documents { $($documents:tt)* }
    ) => {
        $crate::official_with_channels! {
            $name: $ahp, $types;
            states {
                Chat by apply_action_to_chat,
                Changeset by apply_action_to_changeset,
                Annotations by apply_action_to_annotations,
                ResourceWatch by apply_action_to_resource_watch,
                $($states)*
            }
            documents { $($documents)* }
        }
    };
}
