//! A disk in memory that loses what was not synced, with seeded faults.
//!
//! A crash keeps of each file the synced bytes and, at random, some of what was
//! written since, the last of it torn at a random byte and sometimes zeros in its
//! place; of each directory the synced entries and some of the later changes, in
//! order. Everything is decided by the seed, so a failing run can be run again.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Disk, File, Lock};

/// A disk in memory. Clones are the same disk.
#[derive(Clone)]
pub struct SimDisk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    random: u64,
    inodes: HashMap<u64, Inode>,
    next_inode: u64,
    dirs: BTreeSet<PathBuf>,
    names: BTreeMap<PathBuf, u64>,
    durable_names: BTreeMap<PathBuf, u64>,
    pending_names: BTreeMap<PathBuf, Vec<NameChange>>,
    locks: HashMap<PathBuf, (u64, String)>,
    next_lock: u64,
    /// Rises with each crash: handles of an older one are dead.
    generation: u64,
    crashed: bool,
    crash_at: Option<u64>,
    operations: u64,
    syncs: u64,
    fail_sync_at: Option<u64>,
    capacity: Option<u64>,
}

#[derive(Default)]
struct Inode {
    current: Vec<u8>,
    durable: Vec<u8>,
    pending: Vec<Write>,
}

enum Write {
    Append(Vec<u8>),
    Truncate(usize),
}

enum NameChange {
    Link(PathBuf, u64),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf),
}

impl SimDisk {
    /// An empty disk; the seed decides what crashes lose.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State { random: seed, ..State::default() })))
    }

    /// Loses power and comes back: everything that was not synced may be gone, every
    /// open file is dead, locks are free. Faults that were planned are forgotten.
    pub fn crash(&self) {
        let mut state = self.state();
        state.lose();
        state.generation += 1;
        state.crashed = false;
        state.crash_at = None;
        state.fail_sync_at = None;
        state.locks.clear();
    }

    /// From the given operation on (counted as [`SimDisk::operations`] does), all
    /// fail, that one perhaps half done, until [`SimDisk::crash`] is called.
    pub fn crash_at(&self, operation: u64) {
        self.state().crash_at = Some(operation);
    }

    /// Has the planned crash come?
    #[must_use]
    pub fn is_crashed(&self) -> bool {
        self.state().crashed
    }

    /// How many operations have changed or synced something so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// How many files and directories were synced so far.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.state().syncs
    }

    /// The n-th next sync of a file, from 0, reports an error and loses what it should have
    /// made durable; reads go on to see it until the next crash.
    pub fn fail_sync(&self, n: u64) {
        let mut state = self.state();
        state.fail_sync_at = Some(state.syncs + n);
    }

    /// Sets how many bytes fit in all; `None` is no limit. A write that does not fit is cut.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.state().capacity = bytes;
    }

    /// Bytes in all files.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// Turns one bit of a file over, durably. Answers false if there is no such byte.
    pub fn flip(&self, path: &Path, offset: u64, bit: u8) -> bool {
        let mut state = self.state();
        let Some(inode) = state.names.get(path).copied().and_then(|id| state.inodes.get_mut(&id))
        else {
            return false;
        };
        let Some(byte) = usize::try_from(offset).ok().and_then(|at| inode.current.get_mut(at))
        else {
            return false;
        };
        *byte ^= 1 << (bit % 8);
        inode.durable = inode.current.clone();
        inode.pending.clear();
        true
    }

    /// All files with their lengths.
    #[must_use]
    pub fn files(&self) -> Vec<(PathBuf, u64)> {
        let state = self.state();
        let length = |id: &u64| state.inodes.get(id).map_or(0, |inode| inode.current.len() as u64);
        state.names.iter().map(|(path, id)| (path.clone(), length(id))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        if state.crashed { Err(crashed()) } else { Ok(state) }
    }

    fn handle(&self, state: &State, inode: u64) -> Arc<dyn File> {
        Arc::new(SimFile { disk: self.clone(), inode, generation: state.generation })
    }
}

impl State {
    fn below(&mut self, n: usize) -> usize {
        // splitmix64
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z % n.max(1) as u64) as usize
    }

    fn used(&self) -> u64 {
        self.names
            .values()
            .filter_map(|id| self.inodes.get(id))
            .map(|inode| inode.current.len() as u64)
            .sum()
    }

    /// Counts an operation. True if the machine goes down in it.
    fn tick(&mut self) -> bool {
        let last = self.crash_at.is_some_and(|at| self.operations >= at);
        self.operations += 1;
        self.crashed |= last;
        last
    }

    fn change_name(&mut self, dir: &Path, change: NameChange) {
        change.apply(&mut self.names);
        self.pending_names.entry(dir.into()).or_default().push(change);
    }

    fn lose(&mut self) {
        for changes in std::mem::take(&mut self.pending_names).into_values() {
            let kept = self.below(changes.len() + 1);
            for change in &changes[..kept] {
                change.apply(&mut self.durable_names);
            }
        }
        self.names = self.durable_names.clone();
        for path in self.names.keys() {
            self.dirs.extend(path.ancestors().skip(1).map(PathBuf::from));
        }
        let mut ids: Vec<u64> = self.inodes.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some(mut inode) = self.inodes.remove(&id) else { continue };
            if self.names.values().any(|named| *named == id) {
                self.lose_bytes(&mut inode);
                self.inodes.insert(id, inode);
            }
        }
    }

    fn lose_bytes(&mut self, inode: &mut Inode) {
        let pending = std::mem::take(&mut inode.pending);
        let kept = self.below(pending.len() + 1);
        for write in &pending[..kept] {
            write.apply(&mut inode.durable);
        }
        if let Some(Write::Append(bytes)) = pending.get(kept) {
            let torn = self.below(bytes.len() + 1);
            inode.durable.extend_from_slice(&bytes[..torn]);
            if self.below(4) == 0 {
                inode.durable.resize(inode.durable.len() + bytes.len() - torn, 0);
            }
        }
        inode.current = inode.durable.clone();
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<PathBuf, u64>) {
        match self {
            Self::Link(path, inode) => {
                names.insert(path.clone(), *inode);
            }
            Self::Unlink(path) => {
                names.remove(path);
            }
            Self::Rename(from, to) => {
                if let Some(inode) = names.remove(from) {
                    names.insert(to.clone(), inode);
                }
            }
        }
    }
}

impl Write {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Append(bytes) => to.extend_from_slice(bytes),
            Self::Truncate(length) => to.truncate(*length),
        }
    }
}

impl Disk for SimDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.live()?;
        if state.dirs.contains(path) {
            return Ok(());
        }
        let crashes = state.tick();
        state.dirs.extend(path.ancestors().map(PathBuf::from));
        if crashes { Err(crashed()) } else { Ok(()) }
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut state = self.live()?;
        if let Some(inode) = state.names.get(path).copied() {
            return Ok(self.handle(&state, inode));
        }
        let dir = parent(path);
        if !state.dirs.contains(dir) {
            return Err(missing(dir));
        }
        let crashes = state.tick();
        state.next_inode += 1;
        let inode = state.next_inode;
        state.inodes.insert(inode, Inode::default());
        state.change_name(dir, NameChange::Link(path.into(), inode));
        if crashes { Err(crashed()) } else { Ok(self.handle(&state, inode)) }
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let state = self.live()?;
        let inode = state.names.get(path).copied().ok_or_else(|| missing(path))?;
        Ok(self.handle(&state, inode))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let state = self.live()?;
        if !state.dirs.contains(dir) {
            return Err(missing(dir));
        }
        let within = |path: &PathBuf| path.parent() == Some(dir);
        let paths =
            state.names.keys().filter(|p| within(p)).chain(state.dirs.iter().filter(|p| within(p)));
        let names: BTreeSet<String> =
            paths.filter_map(|p| Some(p.file_name()?.to_str()?.to_owned())).collect();
        Ok(names.into_iter().collect())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.live()?;
        if !state.names.contains_key(from) {
            return Err(missing(from));
        }
        let crashes = state.tick();
        state.change_name(parent(from), NameChange::Rename(from.into(), to.into()));
        if crashes { Err(crashed()) } else { Ok(()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.live()?;
        if !state.names.contains_key(path) {
            return Err(missing(path));
        }
        let crashes = state.tick();
        state.change_name(parent(path), NameChange::Unlink(path.into()));
        if crashes { Err(crashed()) } else { Ok(()) }
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.live()?;
        let crashes = state.tick();
        let gone: Vec<PathBuf> =
            state.names.keys().filter(|p| p.starts_with(path)).cloned().collect();
        for file in gone {
            state.change_name(parent(&file), NameChange::Unlink(file.clone()));
        }
        state.dirs.retain(|dir| !dir.starts_with(path));
        if crashes { Err(crashed()) } else { Ok(()) }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.live()?;
        let crashes = state.tick();
        // A crash in a sync may come before or after its effect.
        if !crashes || state.below(2) == 0 {
            for change in state.pending_names.remove(dir).unwrap_or_default() {
                change.apply(&mut state.durable_names);
            }
        }
        if crashes { Err(crashed()) } else { Ok(()) }
    }

    fn lock(&self, path: &Path, owner: &str) -> io::Result<Result<Lock, String>> {
        let mut state = self.live()?;
        if let Some((_, holder)) = state.locks.get(path) {
            return Ok(Err(holder.clone()));
        }
        state.next_lock += 1;
        let id = state.next_lock;
        state.locks.insert(path.into(), (id, owner.into()));
        Ok(Ok(Box::new(SimLock { disk: self.clone(), path: path.into(), id })))
    }
}

struct SimLock {
    disk: SimDisk,
    path: PathBuf,
    id: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        if state.locks.get(&self.path).is_some_and(|(id, _)| *id == self.id) {
            state.locks.remove(&self.path);
        }
    }
}

struct SimFile {
    disk: SimDisk,
    inode: u64,
    generation: u64,
}

impl SimFile {
    fn with<T>(&self, work: impl FnOnce(&mut State, &mut Inode) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.disk.live()?;
        if state.generation != self.generation {
            return Err(crashed());
        }
        // An unlinked file lives on while it is open.
        let mut inode = state.inodes.remove(&self.inode).unwrap_or_default();
        let result = work(&mut state, &mut inode);
        state.inodes.insert(self.inode, inode);
        result
    }
}

impl File for SimFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.with(|state, inode| {
            let room = match state.capacity {
                Some(capacity) => {
                    capacity.saturating_sub(state.used() + inode.current.len() as u64) as usize
                }
                None => usize::MAX,
            };
            let fitting = &bytes[..bytes.len().min(room)];
            let crashes = state.tick();
            inode.current.extend_from_slice(fitting);
            inode.pending.push(Write::Append(fitting.into()));
            if crashes {
                Err(crashed())
            } else if fitting.len() < bytes.len() {
                Err(io::Error::new(io::ErrorKind::StorageFull, "the simulated disk is full"))
            } else {
                Ok(())
            }
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.with(|state, inode| {
            let crashes = state.tick();
            let fails = state.fail_sync_at == Some(state.syncs);
            state.syncs += 1;
            if fails {
                state.fail_sync_at = None;
                let synced = inode.durable.len().min(inode.current.len());
                let kept = synced + state.below(inode.current.len() - synced + 1);
                inode.durable = inode.current.clone();
                inode.durable[kept..].fill(0);
                inode.pending.clear();
                return Err(io::Error::other("the simulated sync failed"));
            }
            if !crashes || state.below(2) == 0 {
                for write in std::mem::take(&mut inode.pending) {
                    write.apply(&mut inode.durable);
                }
            }
            if crashes { Err(crashed()) } else { Ok(()) }
        })
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.with(|_, inode| {
            let start = usize::try_from(offset).map_err(io::Error::other)?;
            let found =
                start.checked_add(buffer.len()).and_then(|end| inode.current.get(start..end));
            buffer.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
            Ok(())
        })
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.with(|state, inode| {
            let length = usize::try_from(length).map_err(io::Error::other)?;
            let crashes = state.tick();
            inode.current.truncate(length);
            inode.pending.push(Write::Truncate(length));
            if crashes { Err(crashed()) } else { Ok(()) }
        })
    }

    fn length(&self) -> io::Result<u64> {
        self.with(|_, inode| Ok(inode.current.len() as u64))
    }
}

fn crashed() -> io::Error {
    io::Error::other("the simulated machine is down")
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("{} is missing", path.display()))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}
