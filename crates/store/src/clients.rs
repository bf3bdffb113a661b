//! Clients that left longer ago than their grace period.

use std::collections::BTreeSet;

use agenthost_core::{Principal, RememberedClient};
use agenthost_protocol::ids::ClientId;
use agenthost_protocol::number::Millis;
use rusqlite::{OptionalExtension, Transaction};

use crate::error::StoreError;
use crate::rows;
use crate::rows::ClientRow;
use crate::store::Store;

/// Deletes the clients of a principal. A damaged record has none.
pub(crate) const DELETE_OF_PRINCIPAL_SQL: &str = "
    DELETE FROM clients
    WHERE CASE WHEN json_valid(record) THEN json_extract(record, '$.principal') END = ?1";

/// Selects the principals of all clients.
const PRINCIPALS_SQL: &str = "
    SELECT DISTINCT CASE WHEN json_valid(record) THEN json_extract(record, '$.principal') END
    FROM clients";

/// Deletes the clients that left until a time, and the longest absent ones beyond a number.
pub(crate) fn prune(
    transaction: &Transaction<'_>,
    left_until: Millis,
    max_clients: usize,
) -> Result<(), StoreError> {
    transaction
        .prepare_cached("DELETE FROM clients WHERE left_at <= ?1")?
        .execute([left_until.0])?;
    transaction
        .prepare_cached(
            "DELETE FROM clients WHERE client IN
             (SELECT client FROM clients WHERE left_at IS NOT NULL
              ORDER BY left_at DESC, client LIMIT -1 OFFSET ?1)",
        )?
        .execute([i64::try_from(max_clients).unwrap_or(i64::MAX)])?;
    Ok(())
}

impl Store {
    /// Loads a client that left longer ago than its grace period.
    pub fn load_client(&self, client: &ClientId) -> Result<Option<RememberedClient>, StoreError> {
        let query = "SELECT record, left_at FROM clients WHERE client = ?1 AND left_at IS NOT NULL";
        let row = self
            .connection
            .prepare_cached(query)?
            .query_row([client.as_str()], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
            })
            .optional()?;
        let Some((text, left_at)) = row else {
            return Ok(None);
        };
        let row: ClientRow = rows::decode_row(|| format!("client {client}"), &text)?;
        Ok(Some(RememberedClient {
            record: row.into(),
            left_at: Millis(left_at),
        }))
    }

    /// Deletes the clients of principals that begin with `prefix` and are not in the list. The
    /// server calls this with the paired devices before it loads the host: a device may have
    /// been revoked while no host was running.
    pub fn retain_principals(
        &mut self,
        prefix: &str,
        principals: &BTreeSet<Principal>,
    ) -> Result<(), StoreError> {
        let retained = self.delete_other_principals(prefix, principals);
        self.explain(retained)
    }

    fn delete_other_principals(
        &mut self,
        prefix: &str,
        principals: &BTreeSet<Principal>,
    ) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        {
            let mut query = transaction.prepare(PRINCIPALS_SQL)?;
            let stored = query.query_map([], |row| row.get::<_, Option<String>>(0))?;
            let stored: Vec<_> = stored.collect::<Result<_, _>>()?;
            let mut delete = transaction.prepare(DELETE_OF_PRINCIPAL_SQL)?;
            for principal in stored.into_iter().flatten() {
                let is_known = principals.contains(&Principal(principal.clone()));
                if principal.starts_with(prefix) && !is_known {
                    delete.execute([principal])?;
                }
            }
        }
        transaction.commit()?;
        Ok(())
    }
}
