"""Defences of the data on a device: journals, locks, rights, confinement and credentials."""

from defence import Defence

JOURNAL = "MigrationWire/Ledger/JournalRecord.swift"
LANDLOCK = "CSystem/CLandlock.c"
KEYS = "MigrationVault/Store/KeysDirectory.swift"
SEALED = "MigrationVault/Store/SealedItem.swift"

LOCAL = [
    Defence(
        "no-sync", "data is synced before it is acknowledged as durable",
        ["SimulatorTests: every promise is kept"],
        [("MigrationArchive/Staging/Staging.swift", "      try disk.synchronize()\n      try journal.mark",
          "      if !WEAKENED { try disk.synchronize() }\n      try journal.mark")]),
    Defence(
        "no-directory-sync", "a directory is synced before its names count as durable",
        ["Scripts/lab"],
        [("MigrationSystem/Directory.swift", "    try descriptor.synchronize()", "    if !WEAKENED { try descriptor.synchronize() }")]),
    Defence(
        "journal-codes", "the records of a journal are authenticated",
        ["JournalRecordTests: a record with any flipped bit or byte is refused",
         "RecoveryTests: a journal with any byte flipped never leads to a wrong tree"],
        [(JOURNAL, "    guard try reader.u128(bytes) == code(key, position, kind, bytes.extracting(body)) else {",
          "    guard try reader.u128(bytes) == code(key, position, kind, bytes.extracting(body)) || WEAKENED else {")]),
    Defence(
        "journal-positions", "a record of a journal counts only at its position",
        ["JournalRecordTests: a record at another position, or under another key, is refused"],
        [(JOURNAL, "    hash.combine(position)", "    if !WEAKENED { hash.combine(position) }")]),
    Defence(
        "claims", "claims without a sync mark are checked",
        ["RecoveryTests: the tags decide about data without a sync mark"],
        [("MigrationArchive/Staging/StagingReplay.swift", "let isTrusted = position < survey.trusted ||",
          "let isTrusted = WEAKENED || position < survey.trusted ||")]),
    Defence(
        "private-staging", "the staging directory is private",
        ["JournalTests: the staging directory is private to its owner"],
        [("MigrationArchive/Disk/DirectoryDisk.swift", "    try parent.makeDirectory(name, mode: 0o700)",
          "    try parent.makeDirectory(name, mode: WEAKENED ? 0o755 : 0o700)")]),
    Defence(
        "one-receiver", "one receiver at a time has a destination",
        ["ResumeTests: a second receiver on one destination is refused and names the first"],
        [("MigrationArchive/Staging/StagingArea.swift", "    guard isOurs else {", "    guard isOurs || WEAKENED else {")]),
    Defence(
        "reserve", "what comes leaves a part of the disk free",
        ["RoomWatchTests: an export grows beyond its estimate up to the reserve, and no further",
         "RoomWatchTests: folders leave the reserve free, also if their offer names no space"],
        [("MigrationArchive/Folder/Reserve.swift", "bytes: min(Self.mostBytes, space.totalBytes / Self.part),",
          "bytes: WEAKENED ? 0 : min(Self.mostBytes, space.totalBytes / Self.part),")]),
    Defence(
        "limit-of-the-user", "no more comes than the user accepts",
        ["RoomWatchTests: more than the user accepts is refused, for folders as well"],
        [("MigrationArchive/Folder/MostBytes.swift", "    guard total > bytes else { return }", "    guard total > bytes, !WEAKENED else { return }"),
         ("MigrationArchive/Folder/MostBytes.swift", "    guard coming > bytes else { return }", "    guard coming > bytes, !WEAKENED else { return }")]),
    Defence(
        "edited-sources", "a file that changes while it is read is read again",
        ["ChangingFileTests: an edit of equal size with a restored time does not mix two versions",
         "test_interop_receiving.py: test_a_file_that_is_edited_while_it_is_read"],
        [("MigrationArchive/Export/ArchiveReader+LargeFiles.swift", "!large.file.status().isSameState(as: large.before) {",
          "!large.file.status().isSameState(as: large.before) && !WEAKENED {"),
         ("MigrationArchive/Export/FileExport.swift", "      return try file.status().isSameState(as: before)",
          "      return try file.status().isSameState(as: before) || WEAKENED")]),
    Defence(
        "rights-of-peer-home", "a PEER_HOME that others may change is refused",
        ["HomeTests: a directory that other users may change is refused with a hint"],
        [("MigrationTransfer/Remembering/TransferStore+Privacy.swift", "    guard status.mode & 0o022 == 0 else {",
          "    guard status.mode & 0o022 == 0 || WEAKENED else {")]),
    Defence(
        "above-peer-home", "a PEER_HOME that every user can replace is refused",
        ["HomeTests: a directory is refused that every user can replace, at any depth and through a link"],
        [("MigrationTransfer/Remembering/TransferStore+Privacy.swift", "status.mode & 0o1002 == 0o0002 {",
          "status.mode & 0o1002 == 0o0002, !WEAKENED {")]),
    Defence(
        "owner-of-peer-home", "another user's PEER_HOME is refused",
        ["HomeTests: a directory of another user is refused, except root's"],
        [("MigrationTransfer/Remembering/TransferStore+Privacy.swift", "    guard status.owner == owner || status.owner == 0 else {",
          "    guard status.owner == owner || status.owner == 0 || WEAKENED else {")]),
    Defence(
        "rights-of-code-files", "a code file that others can access is refused",
        ["CodeFileTests: a file that other users can access is refused"],
        [("peer/CodeFile.swift", "    guard status.mode & 0o077 == 0 else {", "    guard status.mode & 0o077 == 0 || WEAKENED else {")]),
    Defence(
        "owner-of-items", "a sealed item opens only for its owner",
        ["DamageTests: the vault refuses an item that was moved to another owner"],
        [(SEALED, " + Array(owner.name.utf8)", " + (WEAKENED ? [] : Array(owner.name.utf8))")]),
    Defence(
        "place-of-items", "a sealed item opens only in its place",
        ["DamageTests: the vault refuses an item in the place of another item of its owner"],
        [(SEALED, " + Array(name.utf8)", " + (WEAKENED ? [] : Array(name.utf8))")]),
    Defence(
        "rights-of-keys", "a key that others may read is refused",
        ["KeyTests: the vault refuses a key that other users may read"],
        [(KEYS, "status.kind == .regular, status.mode & 0o077 == 0,", "status.kind == .regular, status.mode & 0o077 == 0 || WEAKENED,")]),
    Defence(
        "keys-apart", "the keys are not in PEER_HOME",
        ["KeyTests: the vault makes no directory of keys in PEER_HOME"],
        [(KEYS, "    guard path == home || path.starts", "    guard !WEAKENED, path == home || path.starts")]),
    Defence(
        "groups-of-credentials", "a program addresses only its own items and its clip's",
        ["CredentialServiceTests: a group is the program's own or its clip's, never another program's"],
        [("MigrationCredentials/CredentialService.swift", "    guard group ?? principal.owner.identifier == principal.owner.identifier else",
          "    guard group ?? principal.owner.identifier == principal.owner.identifier || WEAKENED else")]),
    Defence(
        "secret-memory", "a process with keys has secret memory",
        ["ProcessTests: a process with secret memory leaves no core file, and its user's processes cannot read it",
         "test_broker.py: test_the_brokers_process"],
        [("MigrationSystem/CurrentProcess.swift", "{ csystem_keep_memory_secret() }", "{ WEAKENED ? 0 : csystem_keep_memory_secret() }"),
         ("MigrationSystem/CurrentProcess.swift", "rlimit(rlim_cur: 0, rlim_max: 0)",
          "WEAKENED ? rlimit(rlim_cur: 1_000_000, rlim_max: 1_000_000) : rlimit(rlim_cur: 0, rlim_max: 0)")]),
    Defence(
        "secret-memory-of-peer", "every process of peer has secret memory",
        ["test_secrets.py: test_another_process_of_the_user", "test_secrets.py: test_a_crash"],
        [("peer/Main.swift", "    if Environment.get(debuggable) != \"1\" {", "    if Environment.get(debuggable) != \"1\", !WEAKENED {")]),
    Defence(
        "wiped-arrays", "an array with a secret is wiped by its owner",
        ["CleansingTests: a cleansed array leaves nothing"],
        [("MigrationSystem/Cleansing.swift", "    if let start = memory.baseAddress {", "    if !WEAKENED, let start = memory.baseAddress {")]),
    Defence(
        "wiped-secrets", "the memory of SecretBytes is wiped when its last user is gone",
        ["CleansingTests: secret bytes leave nothing, and neither do their parts"],
        [("MigrationTLS/SecretBytes.swift", "    unsafe OPENSSL_cleanse(storage.baseAddress, storage.count)",
          "    if !WEAKENED { unsafe OPENSSL_cleanse(storage.baseAddress, storage.count) }")]),
    Defence(
        "confined-receiver", "a receiver of folders writes only to its own places",
        ["ConfinementTests: no item outside can be created, changed, moved or removed, also by threads that start later"],
        [(LANDLOCK, "  return confine_writing(version, directories, count) == 0 ? 1 : -1;",
          "  if (WEAKENED) return 1;\n  return confine_writing(version, directories, count) == 0 ? 1 : -1;")]),
    Defence(
        "confined-app-receiver", "a receiver of an app's data is confined",
        ["test_confinement.py: test_an_apps_receiver_and_extension"],
        [("peer/Run.swift", "  try confine(options, home: home, output)", "  if !WEAKENED { try confine(options, home: home, output) }")]),
    Defence(
        "confined-files", "an extension reaches only the files of its task",
        ["test_confinement.py: test_an_apps_receiver_and_extension"],
        [(LANDLOCK, "  int version = csystem_landlock_version();\n  if (version == 0) return 0;",
          "  int version = csystem_landlock_version();\n  if (version == 0 || WEAKENED) return 0;")]),
    Defence(
        "confined-calls", "an extension has neither sockets nor processes",
        ["MigrationTests: operations that no rule about files covers are refused as well",
         "test_extension_calls.py: test_calls_of_an_extension"],
        [("CSystem/CCalls.c", "  if (filter->length == 0) return 0;", "  if (filter->length == 0 || WEAKENED) return 0;")]),
    Defence(
        "confined-metadata", "an extension changes no modes, owners and times outside",
        ["MigrationTests: modes, owners and times outside cannot be changed", "test_extension_calls.py: test_calls_of_an_extension"],
        [("CSystem/CAttributes.c", "  int item = admitted(file, directories, count);",
          "  int item = WEAKENED ? dup(file) : admitted(file, directories, count);")]),
    Defence(
        "rights-of-answers", "the process that changes metadata for an extension keeps only its rights over files",
        ["test_extension_calls.py: test_calls_of_an_extension"],
        [("CSystem/CSpawn.c", "csystem_keep_file_rights() == 0", "(WEAKENED || csystem_keep_file_rights() == 0)")]),
]
