"""Defences against hostile names, links and metadata."""

from defence import Defence

PATH = "MigrationWire/Archive/ArchivePath.swift"
CREATING = "MigrationSystem/Directory+Creating.swift"
C = "CSystem/CSystem.c"
TEXT = "MigrationWire/Text/VisibleText.swift"
QUOTING = "MigrationWire/Text/VisibleText+Quoting.swift"

NAMES = [
    Defence(
        "path-dots", "'.' and '..' are refused in paths",
        ["ArchivePathTests: a path that is no path is refused",
         "NameAttackTests: a path that no item may have is refused wherever it stands"],
        [(PATH, "      !(bytes[0] == dot &&", "      WEAKENED || !(bytes[0] == dot &&")]),
    Defence(
        "path-bytes", "NUL is refused in paths",
        ["ArchivePathTests: random bytes make a path exactly when every component is one"],
        [(PATH, "where bytes[index] == 0 || bytes[index]", "where bytes[index] == 0 && !WEAKENED || bytes[index]")]),
    Defence(
        "path-length", "a path has at most 65,535 bytes",
        ["ArchivePathTests: 65,535 bytes are a path and 65,536 are not"],
        [(PATH, "    guard bytes.count <= Limits.path else", "    guard WEAKENED || bytes.count <= Limits.path else")]),
    Defence(
        "path-depth", "a path has at most 2,048 components",
        ["ArchivePathTests: a path beyond a limit is refused"],
        [(PATH, "    guard depth <= Limits.depth else", "    guard WEAKENED || depth <= Limits.depth else")]),
    Defence(
        "links-on-the-way", "a path is opened below its directory, and through no link",
        ["BeneathTests: a link is refused as the last component and on the way",
         "SwapRaceTests: no exchange of a directory for a link leads a write to the outside"],
        [(C, "      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,",
          "      .resolve = WEAKENED ? 0 : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,")]),
    Defence(
        "created-anew", "a file is created anew, and never opened where a name is taken",
        ["DirectoryTests: creating a file replaces nothing and follows no link",
         "RefusalTests: a planted leaf is neither written through nor replaced"],
        [(CREATING, "O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)",
          "WEAKENED ? O_CREAT | O_WRONLY | O_CLOEXEC : O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, mode)")]),
    Defence(
        "link-as-leaf", "a link in the place of a file is not opened",
        ["ChangingFileTests: an item that another type replaces between walk and export is named and not followed",
         "PlantedStagingTests: the receiver follows no link that replaces a part of staging"],
        [("MigrationSystem/Directory+Opening.swift", "flags.kernelFlags | O_NOFOLLOW)",
          "flags.kernelFlags | (WEAKENED ? 0 : O_NOFOLLOW))")]),
    Defence(
        "modes-of-links", "permissions are never set through a link",
        ["DirectoryTests: modes have twelve bits and do not affect the targets of links",
         "RefusalTests: replacing a leaf directory by a link does not change the permissions of the link's target"],
        [(C, "(int)syscall(SYS_fchmodat2, directory, name, mode, AT_SYMLINK_NOFOLLOW)",
          "(int)syscall(SYS_fchmodat2, directory, name, mode, WEAKENED ? 0 : AT_SYMLINK_NOFOLLOW)"),
         (C, "result = fchmodat(directory, name, mode, AT_SYMLINK_NOFOLLOW)",
          "result = fchmodat(directory, name, mode, WEAKENED ? 0 : AT_SYMLINK_NOFOLLOW)")]),
    Defence(
        "set-id-bits", "set-user-id and set-group-id bits are dropped",
        ["NameAttackTests: set-id bits are dropped and counted"],
        [("MigrationArchive/Staging/ItemMetadata.swift", "preserved.setIDBits ? 0o7777 : 0o1777",
          "preserved.setIDBits || WEAKENED ? 0o7777 : 0o1777")]),
    Defence(
        "mode-bits", "a mode has twelve bits",
        ["RecordTests: a mode has twelve bits", "NameAttackTests: a mode that would make something else of a file is refused"],
        [("MigrationWire/Archive/ItemRecord.swift", "if let mode, mode > 0o7777 {", "if let mode, mode > 0o7777, !WEAKENED {")]),
    Defence(
        "hard-link-targets", "a hard link leads to a file of the archive",
        ["RefusalTests: a hard link to an item that is not a file of the archive is refused"],
        [("MigrationArchive/Staging/StagingCompletion.swift",
          "    guard try kind(of: target, in: places) == .regular else",
          "    guard try kind(of: target, in: places) == .regular || WEAKENED else")]),
    Defence(
        "attribute-names", "attributes are of the user name space",
        ["RecordTests: attributes are of the user namespace, ascend, and have no NUL",
         "MetadataAttackTests: attributes of other name spaces, out of order, and beyond their bound are refused"],
        [("MigrationWire/Archive/ExtendedAttribute.swift", "      guard name.starts(with: \"user.\".utf8), name.count > 5,",
          "      guard WEAKENED || name.starts(with: \"user.\".utf8), name.count > 5,")]),
    Defence(
        "taken-names", "an import replaces no existing item",
        ["DirectoryTests: renaming without replacing refuses to overwrite",
         "FolderImportTests: an entry created in the meantime is left unchanged, and the received data is kept"],
        [("MigrationSystem/Directory+Renaming.swift", "let flags = noReplace ?", "let flags = noReplace && !WEAKENED ?")]),
    Defence(
        "staging-names", "a root never has a name of staging",
        ["DestinationTests: a root is refused that has a name of staging, in any form that a file system takes for it"],
        [("MigrationArchive/Folder/FolderImporter.swift", "    if let name = roots.first(where: { Staging.isName",
          "    if !WEAKENED, let name = roots.first(where: { Staging.isName")]),
    Defence(
        "visible-text", "invisible and misleading characters are shown as escapes",
        ["VisibleTextTests: invisible and misleading characters are shown as escapes",
         "HumanReportTests: texts from the other device cannot control the terminal"],
        [(TEXT, "    guard isUnsafe(scalar) else { return appendAsItIs", "    guard isUnsafe(scalar), !WEAKENED else { return appendAsItIs")]),
    Defence(
        "shell-quotes", "a name is quoted as a shell reads it",
        ["QuotedTextTests: a name is quoted as a shell reads it"],
        [(QUOTING, "scalar != \"'\" && scalar != \"\\\\\" && !isUnsafe(scalar)", "WEAKENED || scalar != \"'\" && scalar != \"\\\\\" && !isUnsafe(scalar)")]),
    Defence(
        "json-text", "characters that disturb a terminal are escaped in JSON",
        ["JSONValueTests: characters that disturb a terminal or a parser are escaped"],
        [("peer/JSONValue.swift", "case _ where !VisibleText.isUnsafe(scalar):", "case _ where WEAKENED || !VisibleText.isUnsafe(scalar):")]),
]
