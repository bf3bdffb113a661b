//! An agent that came by HTTP: requests with answers of their own, made of
//! lines that go both ways.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agenthost_protocol::uri::Uri;
use agenthost_protocol::wire::Json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::servers::Shared;
use super::serve;

/// How much may be on its way.
const PIPE: usize = 64 * 1024;

/// Most of what an agent hears beside answers that waits to be taken. More is
/// left out: it says again and again that there are other tools.
const NOTICES: usize = 16;

/// An agent that came. Dropped, it has left.
pub(super) struct Visit {
    to_counter: AsyncMutex<WriteHalf<DuplexStream>>,
    ears: Arc<Ears>,
    /// Cancelled when it is over, from either side.
    over: CancellationToken,
    _left: DropGuard,
}

/// Who waits for what is said to the agent.
#[derive(Default)]
struct Ears {
    /// By what was asked.
    answers: Mutex<BTreeMap<String, mpsc::Sender<String>>>,
    /// All that is no answer.
    notices: Mutex<Option<mpsc::Sender<String>>>,
}

/// What a message wants.
pub(super) enum Wants {
    /// An answer, to this.
    Answer(String),
    /// Nothing.
    Nothing,
}

impl Visit {
    /// Lets the agent of a chat in.
    pub(super) fn begin(shared: &Arc<Shared>, session: &Uri, chat: &Uri) -> Self {
        let (here, there) = tokio::io::duplex(PIPE);
        let (from_counter, to_counter) = tokio::io::split(here);
        let (reader, writer) = tokio::io::split(there);
        let over = shared.stopping.child_token();
        let ears = Arc::<Ears>::default();
        let (own, session, chat, ended) = (
            Arc::clone(shared),
            session.clone(),
            chat.clone(),
            over.clone(),
        );
        shared.tasks.spawn(async move {
            let serving = serve(&own, session, chat, BufReader::new(reader), writer);
            ended.run_until_cancelled(serving).await;
            ended.cancel();
        });
        let (listening, ended) = (Arc::clone(&ears), over.clone());
        shared.tasks.spawn(async move {
            let hearing = hear(from_counter, &listening);
            ended.run_until_cancelled(hearing).await;
            ended.cancel();
            listening.close();
        });
        Visit {
            to_counter: AsyncMutex::new(to_counter),
            ears,
            _left: over.clone().drop_guard(),
            over,
        }
    }

    /// Whether the agent has left, or its session is over.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Says something to the tools. What is answered comes by the receiver,
    /// which ends without if nothing ever will; none if something of the same
    /// name is asked already.
    pub(super) async fn say(&self, message: &Json, wants: Wants) -> Option<mpsc::Receiver<String>> {
        let (sender, answer) = mpsc::channel(1);
        if let Wants::Answer(id) = wants {
            let mut answers = lock(&self.ears.answers);
            if answers.contains_key(&id) {
                return None;
            }
            answers.insert(id, sender);
        }
        let line = format!("{message}\n");
        let mut to_counter = self.to_counter.lock().await;
        if to_counter.write_all(line.as_bytes()).await.is_err() {
            self.over.cancel();
        }
        if self.is_over() {
            self.ears.close();
        }
        Some(answer)
    }

    /// All that is said beside answers, from now on. Who heard it before does
    /// not any more.
    pub(super) fn notices(&self) -> mpsc::Receiver<String> {
        let (sender, notices) = mpsc::channel(NOTICES);
        if !self.is_over() {
            *lock(&self.ears.notices) = Some(sender);
        }
        notices
    }
}

impl Ears {
    fn tell(&self, line: String) {
        let Ok(message) = serde_json::from_str::<Json>(&line) else {
            return;
        };
        let is_answer = message.get("method").is_none();
        let waiting = message.get("id").filter(|_| is_answer);
        let waiting = waiting.and_then(|id| lock(&self.answers).remove(&id.to_string()));
        let told = match waiting {
            Some(waiting) => waiting.try_send(line),
            None => match &*lock(&self.notices) {
                Some(notices) => notices.try_send(line),
                None => Ok(()),
            },
        };
        if told.is_err() {
            tracing::debug!("an agent did not take what it was told");
        }
    }

    /// Nothing more will be said.
    fn close(&self) {
        lock(&self.answers).clear();
        lock(&self.notices).take();
    }
}

async fn hear(from_counter: ReadHalf<DuplexStream>, ears: &Ears) {
    let mut lines = BufReader::new(from_counter).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        ears.tell(line);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
