// The last known state of the frontend, in IndexedDB, so that the page opens without the host. A browser may refuse the
// storage (private windows do); the page then starts empty.

const DATABASE = "agenthost";
const STORE = "state";

export async function loadState(key: string): Promise<string | undefined> {
  try {
    const value: unknown = await run("readonly", (store) => store.get(key));
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Saves a state; an empty one is removed. */
export async function saveState(key: string, text: string): Promise<void> {
  try {
    await run("readwrite", (store) => (text === "" ? store.delete(key) : store.put(text, key)));
  } catch (error) {
    console.warn("save the state of the page:", error);
  }
}

/** Removes the states of all tabs. */
export async function dropStates(): Promise<void> {
  try {
    await run("readwrite", (store) => store.clear());
  } catch (error) {
    console.warn("remove the saved states of the page:", error);
  }
}

function run(mode: IDBTransactionMode, action: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const request = action(database.transaction(STORE, mode).objectStore(STORE));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
      request.transaction?.addEventListener("complete", () => database.close());
    };
  });
}
