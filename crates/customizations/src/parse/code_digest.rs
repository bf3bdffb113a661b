//! Computes a digest of all code that a container can run.
//!
//! A user approves code by this digest, so two containers that run different code must
//! never share one. The declarations are hashed in a canonical encoding: every field and
//! list has a tag and a length, so text can't move from one field to another without
//! changing the digest.

use std::ops::Deref;

use agenthost_stdx::hex::encode_hex;
use sha2::{Digest, Sha256};

use super::{
    ContainerItem, ContainerLayout, DeclaredHook, DeclaredServer, DeclaredTransport, HookEvent,
    ItemDetail, ParsedContainer,
};
use crate::package::Package;

/// Version of the encoding. A digest of another version never matches, so a change of the
/// encoding requires a new approval.
pub(crate) const VERSION: &str = "v2:";

/// Returns the digest of a container's code, or `None` if it declares no code.
pub(super) fn digest(
    parsed: &ParsedContainer,
    package: &Package,
    layout: ContainerLayout,
) -> Option<String> {
    let declarations = code_declarations(&parsed.items);
    if declarations.is_empty() {
        return None;
    }
    let mut encoder = DigestEncoder::default();
    encoder.layout(layout);
    encoder.list(declarations.len());
    for declaration in &declarations {
        encoder.declaration(declaration);
    }
    // A plugin package also contains the scripts that it runs. The scripts of a workspace
    // are not known, so its approval covers declarations only.
    match layout {
        ContainerLayout::Plugin => encoder.bytes(&package.code_digest()),
        ContainerLayout::Folder(_) | ContainerLayout::Files(_) => encoder.none(),
    }
    Some(format!("{VERSION}{}", encode_hex(&encoder.finish())))
}

/// A declaration of code in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeDeclaration<'a> {
    /// A hook, with the name that its file gives the event.
    Hook(&'a str, &'a DeclaredHook),
    Server(&'a DeclaredServer),
}

fn code_declarations(items: &[ContainerItem]) -> Vec<CodeDeclaration<'_>> {
    let mut all = Vec::new();
    for item in items {
        match &item.detail {
            ItemDetail::Hooks(hooks) => {
                all.extend(
                    hooks
                        .iter()
                        .map(|hook| CodeDeclaration::Hook(&item.name, hook)),
                );
            }
            ItemDetail::Server(server) => all.push(CodeDeclaration::Server(server)),
            ItemDetail::Agent(_)
            | ItemDetail::Skill(_)
            | ItemDetail::Command(_)
            | ItemDetail::Prompt(_)
            | ItemDetail::Rule(_) => {}
        }
    }
    all
}

/// Hashes values in a prefix code: the tag and length of each value determine its end, so
/// different sequences of values never encode to the same bytes.
#[derive(Default)]
struct DigestEncoder {
    hash: Sha256,
}

impl DigestEncoder {
    fn finish(self) -> [u8; 32] {
        self.hash.finalize().into()
    }

    fn declaration(&mut self, declaration: &CodeDeclaration<'_>) {
        match declaration {
            CodeDeclaration::Hook(name, hook) => self.hook(name, hook),
            CodeDeclaration::Server(server) => self.server(server),
        }
    }

    fn hook(&mut self, name: &str, hook: &DeclaredHook) {
        let DeclaredHook {
            event,
            matcher,
            command,
            environment,
            directory,
            timeout: patience,
        } = hook;
        self.text("hook");
        self.text(name);
        self.text(event_label(*event));
        self.optional(matcher.as_deref());
        self.text(command);
        self.pairs(environment);
        self.optional(directory.as_deref());
        self.number(patience.as_secs());
        self.number(u64::from(patience.subsec_nanos()));
    }

    fn server(&mut self, server: &DeclaredServer) {
        let DeclaredServer {
            name,
            transport: way,
        } = server;
        self.text("server");
        self.text(name);
        match way {
            DeclaredTransport::Stdio {
                command,
                arguments,
                environment,
                directory,
            } => {
                self.text("program");
                self.text(command);
                self.list(arguments.len());
                for argument in arguments {
                    self.text(argument);
                }
                self.pairs(environment);
                self.optional(directory.as_deref());
            }
            DeclaredTransport::Http { url, headers } => {
                self.text("http");
                self.text(url);
                self.pairs(headers);
            }
        }
    }

    fn layout(&mut self, layout: ContainerLayout) {
        let (word, kind) = match layout {
            ContainerLayout::Plugin => ("plugin", None),
            ContainerLayout::Folder(kind) => ("folder", Some(kind.label())),
            ContainerLayout::Files(kind) => ("files", Some(kind.label())),
        };
        self.text(word);
        self.optional(kind);
    }

    fn pairs(&mut self, pairs: &[(String, impl Deref<Target = str>)]) {
        self.list(pairs.len());
        for (name, value) in pairs {
            self.text(name);
            self.text(value);
        }
    }

    fn optional(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.none(),
        }
    }

    fn text(&mut self, text: &str) {
        self.tagged(b't', text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.tagged(b'b', bytes);
    }

    fn none(&mut self) {
        self.hash.update([b'n']);
    }

    fn list(&mut self, length: usize) {
        self.hash.update([b'l']);
        self.hash.update((length as u64).to_be_bytes());
    }

    fn number(&mut self, number: u64) {
        self.hash.update([b'u']);
        self.hash.update(number.to_be_bytes());
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.hash.update([tag]);
        self.hash.update((bytes.len() as u64).to_be_bytes());
        self.hash.update(bytes);
    }
}

fn event_label(event: HookEvent) -> &'static str {
    match event {
        HookEvent::SessionStart => "sessionStart",
        HookEvent::UserPromptSubmit => "userPromptSubmit",
        HookEvent::Stop => "stop",
        HookEvent::SessionEnd => "sessionEnd",
        HookEvent::PreToolUse => "preToolUse",
        HookEvent::PostToolUse => "postToolUse",
        HookEvent::PostToolUseFailure => "postToolUseFailure",
        HookEvent::Unsupported => "elsewhere",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agenthost_core::tools::mcp::transport::Template;
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum Owned {
        Hook(String, DeclaredHook),
        Server(DeclaredServer),
    }

    impl Owned {
        fn borrowed(&self) -> CodeDeclaration<'_> {
            match self {
                Owned::Hook(name, hook) => CodeDeclaration::Hook(name, hook),
                Owned::Server(server) => CodeDeclaration::Server(server),
            }
        }
    }

    fn digest_of(all: &[Owned]) -> [u8; 32] {
        let mut encoder = DigestEncoder::default();
        encoder.list(all.len());
        for one in all {
            encoder.declaration(&one.borrowed());
        }
        encoder.finish()
    }

    /// Returns words that could be mistaken for the structure around them, so that two
    /// generated declarations often consist of the same words.
    fn word() -> impl Strategy<Value = String> {
        const WORDS: &[&str] = &[
            "", "a", "b", "ab", "with", "program", "http", "hook", "server", "stop", "t", "n", "l",
            "\0",
        ];
        proptest::sample::select(WORDS).prop_map(str::to_owned)
    }

    const EVENTS: [HookEvent; 3] = [
        HookEvent::Stop,
        HookEvent::PreToolUse,
        HookEvent::SessionStart,
    ];

    /// Distributes words over the fields of a declaration, in order. The cuts decide how
    /// many words each field gets.
    fn distribute(kind: Index, words: &[String], cuts: &[Index]) -> Owned {
        let mut rest = words;
        let mut cuts = cuts.iter();
        let mut take = |most: usize| {
            let most = most.min(rest.len());
            let count = cuts.next().map_or(0, |cut| cut.index(most + 1));
            let (taken, after) = rest.split_at(count);
            rest = after;
            taken.to_vec()
        };
        let one = |words: Vec<String>| words.into_iter().next().unwrap_or_default();
        let pairs = |words: Vec<String>| -> Vec<(String, String)> {
            words
                .chunks(2)
                .map(|pair| (pair[0].clone(), pair.get(1).cloned().unwrap_or_default()))
                .collect()
        };
        let templates = |pairs: Vec<(String, String)>| -> Vec<(String, Template)> {
            let pairs = pairs.into_iter();
            pairs.map(|(name, value)| (name, Template(value))).collect()
        };
        let name = one(take(1));
        match kind.index(3) {
            0 => Owned::Server(DeclaredServer {
                name,
                transport: DeclaredTransport::Stdio {
                    command: one(take(1)).into(),
                    arguments: take(5).into_iter().map(Template).collect(),
                    directory: take(1).into_iter().next().map(Template),
                    environment: templates(pairs(take(4))),
                },
            }),
            1 => Owned::Server(DeclaredServer {
                name,
                transport: DeclaredTransport::Http {
                    url: one(take(1)).into(),
                    headers: templates(pairs(take(6))),
                },
            }),
            _ => Owned::Hook(
                name,
                DeclaredHook {
                    event: EVENTS[take(2).len()],
                    matcher: take(1).into_iter().next(),
                    command: one(take(1)),
                    directory: take(1).into_iter().next(),
                    environment: pairs(take(4)),
                    timeout: Duration::from_millis(take(3).len() as u64 * 500),
                },
            ),
        }
    }

    fn cuts() -> impl Strategy<Value = Vec<Index>> {
        proptest::collection::vec(any::<Index>(), 8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        #[test]
        fn equal_digests_imply_equal_declarations(
            words in proptest::collection::vec(word(), 0..8),
            first in (any::<Index>(), cuts()),
            second in (any::<Index>(), cuts()),
        ) {
            let first = distribute(first.0, &words, &first.1);
            let second = distribute(second.0, &words, &second.1);
            let equal = digest_of(std::slice::from_ref(&first)) == digest_of(std::slice::from_ref(&second));
            prop_assert_eq!(equal, first == second);
        }

        #[test]
        fn equal_digests_imply_equal_lists_of_declarations(
            words in proptest::collection::vec(word(), 0..12),
            at in (any::<Index>(), any::<Index>()),
            shapes in proptest::collection::vec((any::<Index>(), cuts()), 4),
        ) {
            let both = |at: Index, shapes: &[(Index, Vec<Index>)]| {
                let (left, right) = words.split_at(at.index(words.len() + 1));
                [
                    distribute(shapes[0].0, left, &shapes[0].1),
                    distribute(shapes[1].0, right, &shapes[1].1),
                ]
            };
            let first = both(at.0, &shapes[..2]);
            let second = both(at.1, &shapes[2..]);
            prop_assert_eq!(digest_of(&first) == digest_of(&second), first == second);
        }
    }

    #[test]
    fn digests_have_a_version_prefix() {
        let parsed = ParsedContainer::default();
        assert_eq!(
            digest(&parsed, &Package::default(), ContainerLayout::Plugin),
            None
        );
        assert!(VERSION.starts_with('v') && VERSION.ends_with(':'));
    }
}
