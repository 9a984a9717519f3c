import MigrationSystem

extension ExtensionSite {
  /// Libraries of programs, and the files in which the C library and Foundation look up data.
  private static let libraries = [
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
  ]
  private static let lookups = [
    "/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo", "/usr/share/locale", "/usr/share/i18n",
    // Foundation names the owners of files.
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/dev/urandom", "/dev/random", "/sys/devices/system/cpu",
    // Dispatch looks up its threads by number there, and ends the process if it cannot. A confined
    // process sees only public data about others there: their existence and command lines.
    "/proc",
  ]

  /// The files that the extension may access in one run.
  func confinement(for purpose: ExtensionLaunch.Purpose) -> Confinement {
    var rules = Confinement()
    for path in Self.libraries { rules.allow(.execute, path, isOptional: true) }
    // The Swift runtime of this program is a system library, in any directory.
    if let runtime = CurrentProcess.directory(ofLibrary: "libswiftCore.so") { rules.allow(.execute, runtime) }
    for path in Self.lookups { rules.allow(.read, path, isOptional: true) }
    rules.allow(.write, "/dev/null")
    rules.allow(.execute, String(decoding: bundle.path, as: UTF8.self))
    rules.allow(.write, scratch)
    rules.attributeGuard = attributeGuard
    // One directory for an import: an importer could not move items from one mount to another, but
    // only copy them.
    rules.changeable = purpose.isImport ? files.path : scratch
    let access: Confinement.Access = purpose.isImport ? .write : .read
    rules.allow(access, container)
    for path in groups.values.sorted() { rules.allow(access, path) }
    if case .importing(let directory) = purpose { rules.allow(.write, directory) }
    return rules
  }
}
