//! A fixed number of slots for connections that have not authenticated.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agenthost_stdx::sync::lock;
use tokio_util::sync::CancellationToken;

/// Limits on connections that have not authenticated.
#[derive(Debug, Clone, Copy)]
pub struct PendingLimits {
    /// Maximum number of connections from all addresses.
    pub connections: usize,
    /// Maximum number of connections from one address of another machine. Clients on this
    /// machine share the loopback address, so only `connections` limits them.
    pub per_address: usize,
    /// Time that a connection has to authenticate.
    pub timeout: Duration,
    /// The timeout of a connection that arrives when more than half of the slots are taken.
    pub crowded_timeout: Duration,
}

/// The connections of a listener that have not authenticated.
///
/// The number of slots is fixed. A connection that finds no free slot takes the slot of the
/// oldest connection of the address that holds the most slots, and that connection is
/// closed. So idle peers cannot keep others out, and a peer at one address cannot push out
/// clients at other addresses.
#[derive(Debug, Clone)]
pub struct PendingConnections {
    limits: PendingLimits,
    table: Arc<Mutex<SlotTable>>,
}

#[derive(Debug, Default)]
struct SlotTable {
    next_id: u64,
    /// Slots by age, the oldest first.
    slots: BTreeMap<u64, SlotEntry>,
}

#[derive(Debug)]
struct SlotEntry {
    address: IpAddr,
    evicted: CancellationToken,
}

/// The slot of one connection. It is freed when its last clone is dropped or when the
/// connection is promoted.
#[derive(Debug, Clone)]
pub struct PendingSlot(Arc<SlotHandle>);

#[derive(Debug)]
struct SlotHandle {
    id: u64,
    timeout: Duration,
    evicted: CancellationToken,
    table: Arc<Mutex<SlotTable>>,
}

impl PendingConnections {
    /// Creates a table of free slots.
    #[must_use]
    pub fn new(limits: PendingLimits) -> Self {
        PendingConnections {
            limits,
            table: Arc::default(),
        }
    }

    /// Assigns a slot to a new connection. Never waits: if no slot is free, it evicts
    /// another connection.
    #[must_use]
    pub fn admit(&self, peer: IpAddr) -> PendingSlot {
        let address = address_group(peer);
        let mut table = lock(&self.table);
        if !address.is_loopback() && table.count_slots(address) >= self.limits.per_address {
            table.evict_oldest(address);
        } else if table.slots.len() >= self.limits.connections
            && let Some(busiest) = table.busiest_address()
        {
            table.evict_oldest(busiest);
        }
        let id = table.next_id;
        table.next_id += 1;
        let evicted = CancellationToken::new();
        let entry = SlotEntry {
            address,
            evicted: evicted.clone(),
        };
        table.slots.insert(id, entry);
        let crowded = table.slots.len() > self.limits.connections / 2;
        PendingSlot(Arc::new(SlotHandle {
            id,
            timeout: if crowded {
                self.limits.crowded_timeout
            } else {
                self.limits.timeout
            },
            evicted,
            table: Arc::clone(&self.table),
        }))
    }
}

impl PendingSlot {
    /// Frees the slot because its connection has authenticated. From here on the connection
    /// cannot be evicted. Returns `false` if it has been evicted already.
    #[must_use]
    pub fn promote(&self) -> bool {
        lock(&self.0.table).slots.remove(&self.0.id);
        !self.0.evicted.is_cancelled()
    }

    /// Returns the time that the connection has to authenticate.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.0.timeout
    }

    /// Waits until the connection is evicted. Never returns if it is promoted before that.
    pub async fn wait_evicted(&self) {
        self.0.evicted.cancelled().await;
    }
}

impl Drop for SlotHandle {
    fn drop(&mut self) {
        lock(&self.table).slots.remove(&self.id);
    }
}

impl SlotTable {
    fn count_slots(&self, address: IpAddr) -> usize {
        let slots = self.slots.values();
        slots.filter(|slot| slot.address == address).count()
    }

    /// Returns the address that holds the most slots. If there are several, returns the one
    /// with the oldest connection.
    fn busiest_address(&self) -> Option<IpAddr> {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for slot in self.slots.values() {
            *counts.entry(slot.address).or_default() += 1;
        }
        let most = counts.values().max()?;
        let busiest = |slot: &&SlotEntry| counts.get(&slot.address) == Some(most);
        self.slots.values().find(busiest).map(|slot| slot.address)
    }

    fn evict_oldest(&mut self, address: IpAddr) {
        let mut slots = self.slots.iter();
        let oldest = slots.find(|(_, slot)| slot.address == address);
        if let Some(id) = oldest.map(|(id, _)| *id)
            && let Some(slot) = self.slots.remove(&id)
        {
            slot.evicted.cancel();
        }
    }
}

/// Returns the address by which connections are counted. One machine usually has all
/// addresses of an IPv6 `/64`, so they count as one.
fn address_group(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let prefix = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: PendingLimits = PendingLimits {
        connections: 4,
        per_address: 2,
        timeout: Duration::from_secs(10),
        crowded_timeout: Duration::from_secs(2),
    };

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn evicted(slots: &[PendingSlot]) -> Vec<bool> {
        let slots = slots.iter();
        slots.map(|slot| slot.0.evicted.is_cancelled()).collect()
    }

    #[test]
    fn the_oldest_connection_is_evicted_when_all_slots_are_taken() {
        let pending = PendingConnections::new(LIMITS);
        let slots: Vec<_> = (0..6).map(|_| pending.admit(ip("127.0.0.1"))).collect();
        assert_eq!(evicted(&slots), [true, true, false, false, false, false]);
        assert!(!slots[0].promote());
        assert!(slots[5].promote());
    }

    #[test]
    fn a_promoted_connection_is_never_evicted() {
        let pending = PendingConnections::new(LIMITS);
        let client = pending.admit(ip("127.0.0.1"));
        assert!(client.promote());
        let slots: Vec<_> = (0..20).map(|_| pending.admit(ip("127.0.0.1"))).collect();
        assert!(!client.0.evicted.is_cancelled());
        drop(client);
        assert_eq!(evicted(&slots).iter().filter(|gone| !**gone).count(), 4);
    }

    #[test]
    fn a_dropped_connection_frees_its_slot() {
        let pending = PendingConnections::new(LIMITS);
        let first = pending.admit(ip("127.0.0.1"));
        for _ in 0..10 {
            drop(pending.admit(ip("127.0.0.1")));
        }
        assert!(!first.0.evicted.is_cancelled());
    }

    #[test]
    fn one_address_cannot_push_out_another() {
        let pending = PendingConnections::new(LIMITS);
        let client = pending.admit(ip("192.0.2.1"));
        let flood: Vec<_> = (0..20).map(|_| pending.admit(ip("127.0.0.1"))).collect();
        assert!(!client.0.evicted.is_cancelled());
        assert_eq!(evicted(&flood).iter().filter(|gone| !**gone).count(), 3);
    }

    #[test]
    fn another_machine_has_fewer_slots_than_this_one() {
        let pending = PendingConnections::new(LIMITS);
        let slots: Vec<_> = ["2001:db8::1", "2001:db8::2", "2001:db8::3"]
            .map(|address| pending.admit(ip(address)))
            .to_vec();
        assert_eq!(evicted(&slots), [true, false, false]);
        let mapped = ["::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"];
        let slots = mapped.map(|address| pending.admit(ip(address)));
        assert_eq!(evicted(&slots), [true, false, false]);
    }

    #[test]
    fn timeouts_are_short_when_more_than_half_of_the_slots_are_taken() {
        let pending = PendingConnections::new(LIMITS);
        let slots: Vec<_> = (0..3).map(|_| pending.admit(ip("127.0.0.1"))).collect();
        let timeouts: Vec<_> = slots.iter().map(|slot| slot.timeout().as_secs()).collect();
        assert_eq!(timeouts, [10, 10, 2]);
    }
}
