//! The audit log: which events are recorded, with which actor and details.

use agenthost_core::{AuditActor, AuditEntry, AuditKind};
use agenthost_protocol::wire::Json;
use expect_test::{Expect, expect};

use crate::script::run;
use crate::test_host::{TestHost, config};

/// Runs a script, and compares the entries that it adds.
fn check_audit(script: &str, expected: Expect) {
    check_audit_of(TestHost::new(), script, expected);
}

fn check_audit_of(mut test_host: TestHost, script: &str, expected: Expect) {
    run(&mut test_host, script);
    let lines: Vec<_> = test_host.log.audit.iter().map(render).collect();
    expected.assert_eq(&format!("{}\n", lines.join("\n")));
}

fn render(entry: &AuditEntry) -> String {
    let actor = match &entry.actor {
        AuditActor::Host => "host".to_owned(),
        other => Json::Object(other.to_object()).to_string(),
    };
    let session = entry.session.as_ref();
    let session = session.map_or(String::new(), |session| format!(" [{session}]"));
    let details = Json::Object(entry.details.clone());
    format!("{} {actor}{session} {details}", entry.kind.name())
}

#[test]
fn sign_ins_and_refusals_are_recorded() {
    check_audit(
        r#"
        c1 connect phone/operate
        c1 initialize {"protocolVersions": ["1.0.0"], "clientId": "a", "clientInfo": {"name": "page", "version": "2"}}
        c2 connect other
        c2 initialize {"protocolVersions": ["1.0.0"], "clientId": "a"}
        refused 192.0.2.1 a token is needed
        revoke device:1
        "#,
        expect![[r#"
            connection.accepted {"kind":"peer","principal":"device:phone","device":"phone","client":"a","program":"page 2"} {"scope":"operate","protocol":"1.0.0"}
            connection.refused {"kind":"peer","principal":"other","client":"a"} {"reason":"the client id belongs to another principal"}
            connection.refused {"kind":"unauthenticated","address":"192.0.2.1"} {"reason":"a token is needed"}
            device.revoked host {"device":"device:device:1"}
        "#]],
    );
}

/// An entry has the digest of the arguments and the rule, and neither the arguments nor the
/// description of the call.
#[test]
fn approvals_are_recorded_with_their_rule() {
    check_audit(
        r#"
        c1 joins a
        c1 opens s1
        c1 starts t1
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k1", "toolName": "bash", "displayName": "Bash"}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "Delete it", "toolInput": "rm -rf secret", "confirmationTitle": "Run in terminal", "options": [{"id": "once", "label": "Allow once", "kind": "approve"}, {"id": "no", "label": "No", "kind": "deny"}]}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k1", "approved": true, "confirmed": "user-action", "selectedOptionId": "agenthost.allow-session"}
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k2", "toolName": "bash", "displayName": "Bash"}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k2", "invocationMessage": "Again", "toolInput": "ls"}
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k3", "toolName": "edit", "displayName": "Edit"}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k3", "invocationMessage": "Edit", "toolInput": "x"}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k3", "approved": false, "reason": "denied"}
        c1 ! s1 session/configChanged {"config": {"permissions": {"deny": ["edit"]}}}
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k4", "toolName": "edit", "displayName": "Edit"}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k4", "invocationMessage": "Edit", "toolInput": "x"}
        c1 ! s1 session/configChanged {"config": {"autoApprove": "autoApprove"}}
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k5", "toolName": "view", "displayName": "View"}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k5", "invocationMessage": "View", "toolInput": "x"}
        c1 ! s1.chat chat/toolCallConfirmed {"turnId": "t1", "toolCallId": "k5", "approved": true, "confirmed": "user-action"}
        "#,
        expect![[r#"
            connection.accepted {"kind":"peer","principal":"me","client":"a"} {"scope":"terminal","protocol":"1.0.0"}
            toolCall.decided {"kind":"peer","principal":"me","client":"a"} [ahp-session:/s1] {"decision":"approved","rule":"user","tool":"bash","title":"Run in terminal","input":"sha256:12236678a18c0d44888f54e4ebd107d79f82f6ef845a5a9fd363da22809fb2da","chat":"ahp-chat://default/YWhwLXNlc3Npb246L3Mx","turn":"t1","call":"k1","option":"agenthost.allow-session"}
            toolCall.decided host [ahp-session:/s1] {"decision":"approved","rule":"permissions.allow","tool":"bash","input":"sha256:c7b68ac37f364473e922936708e7f43c293dd07b295171566c07ff5fe024fab9","chat":"ahp-chat://default/YWhwLXNlc3Npb246L3Mx","turn":"t1","call":"k2"}
            toolCall.decided {"kind":"peer","principal":"me","client":"a"} [ahp-session:/s1] {"decision":"denied","rule":"user","tool":"edit","input":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","chat":"ahp-chat://default/YWhwLXNlc3Npb246L3Mx","turn":"t1","call":"k3"}
            sessionConfig.changed {"kind":"peer","principal":"me","client":"a"} [ahp-session:/s1] {"values":{"permissions":{"deny":["edit"]}}}
            toolCall.decided host [ahp-session:/s1] {"decision":"denied","rule":"permissions.deny","tool":"edit","input":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","chat":"ahp-chat://default/YWhwLXNlc3Npb246L3Mx","turn":"t1","call":"k4"}
            sessionConfig.changed {"kind":"peer","principal":"me","client":"a"} [ahp-session:/s1] {"values":{"autoApprove":"autoApprove"}}
            toolCall.decided host [ahp-session:/s1] {"decision":"approved","rule":"autoApprove","tool":"view","input":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","chat":"ahp-chat://default/YWhwLXNlc3Npb246L3Mx","turn":"t1","call":"k5"}
        "#]],
    );
}

#[test]
fn changes_of_settings_are_recorded() {
    check_audit(
        r#"
        c1 joins a
        c1 subscribe root
        c1 ! root root/configChanged {"config": {"readableFolders": ["file:///a", "file:///b"], "trustedCode": ["k1"]}}
        c1 ! root root/configChanged {"config": {"readableFolders": ["file:///b"], "writableFolders": ["file:///c"], "defaultAgent": "other"}}
        c1 ! root root/configChanged {"config": {"trustedCode": []}}
        c1 ! root root/configChanged {"config": {"defaultAgent": "nobody"}}
        agents shell! other
        "#,
        expect![[r#"
            connection.accepted {"kind":"peer","principal":"me","client":"a"} {"scope":"terminal","protocol":"1.0.0"}
            folder.granted {"kind":"peer","principal":"me","client":"a"} {"folder":"file:///a","access":"read"}
            folder.granted {"kind":"peer","principal":"me","client":"a"} {"folder":"file:///b","access":"read"}
            code.allowed {"kind":"peer","principal":"me","client":"a"} {"code":"k1"}
            setting.changed {"kind":"peer","principal":"me","client":"a"} {"setting":"defaultAgent","value":"other"}
            folder.revoked {"kind":"peer","principal":"me","client":"a"} {"folder":"file:///a","access":"read"}
            folder.granted {"kind":"peer","principal":"me","client":"a"} {"folder":"file:///c","access":"write"}
            code.revoked {"kind":"peer","principal":"me","client":"a"} {"code":"k1"}
            agents.changed host {"changed":["shell"]}
        "#]],
    );
}

#[test]
fn removals_and_tokens_are_recorded() {
    check_audit(
        r#"
        c1 joins a
        c1 opens s1
        c1 opens s2
        c1 authenticate {"resource": "https://example.org/api", "token": "the secret"}
        c1 authenticate {"resource": "https://example.org/api", "token": ""}
        c1 disposeSession s1
        c1 disposeSession s1
        - wait 200000000
        retention 1
        "#,
        expect![[r#"
            connection.accepted {"kind":"peer","principal":"me","client":"a"} {"scope":"terminal","protocol":"1.0.0"}
            token.stored {"kind":"peer","principal":"me","client":"a"} {"resource":"https://example.org/api"}
            token.removed {"kind":"peer","principal":"me","client":"a"} {"resource":"https://example.org/api"}
            session.removed {"kind":"peer","principal":"me","client":"a"} [ahp-session:/s1] {"agent":"shell","created":"2026-01-05T09:00:00.000Z","modified":"2026-01-05T09:00:00.000Z"}
            session.removed host [ahp-session:/s2] {"agent":"shell","created":"2026-01-05T09:00:00.000Z","modified":"2026-01-05T09:00:00.000Z","rule":"retention.session_days"}
        "#]],
    );
}

/// A hook that denies a call is the rule.
#[test]
fn denials_of_hooks_are_recorded() {
    let mut config = config();
    let agents = config.catalog.agents.iter();
    config.catalog.customizable = Some(agents.map(|agent| agent.provider.clone()).collect());
    check_audit_of(
        TestHost::with(config),
        r#"
        c1 joins a
        c1 opens s1 {"workingDirectories": ["file:///w"]}
        customized s1 found []
        customized s1 hooks before
        c1 starts t1
        customized s1 prepared t1
        agent s1 chat/toolCallStart {"turnId": "t1", "toolCallId": "k1", "toolName": "bash", "displayName": "Bash"}
        agent s1 chat/toolCallReady {"turnId": "t1", "toolCallId": "k1", "invocationMessage": "Run", "toolInput": "x"}
        customized s1 checked 1 not allowed
        "#,
        expect![[r#"
            connection.accepted {"kind":"peer","principal":"me","client":"a"} {"scope":"terminal","protocol":"1.0.0"}
            toolCall.decided host [ahp-session:/s1] {"decision":"denied","rule":"hook","tool":"bash","input":"sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881","chat":"ahp-chat://default/YWhwLXNlc3Npb246L3Mx","turn":"t1","call":"k1"}
        "#]],
    );
}

#[test]
fn every_kind_has_a_name_of_its_own() {
    let mut names: Vec<_> = AuditKind::ALL.iter().map(|kind| kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), AuditKind::ALL.len());
}
