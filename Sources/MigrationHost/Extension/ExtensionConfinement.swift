import MigrationSystem

/// What an extension may reach of the files, by what it is run for.
enum ExtensionConfinement {
  /// Programs' libraries, and what the C library and Foundation look things up in.
  private static let libraries = [
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache",
  ]
  private static let lookups = [
    "/etc/localtime", "/etc/timezone", "/usr/share/zoneinfo", "/usr/share/locale", "/usr/share/i18n",
    // Foundation names the owners of files.
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf",
    "/dev/urandom", "/dev/random", "/dev/zero", "/sys/devices/system/cpu",
    // Dispatch looks at its threads under their own numbers there, and ends the process where it cannot. Of other processes
    // a confined one sees no more there than what everybody may: that they run, and their command lines.
    "/proc",
  ]

  /// The rules for one run.
  static func rules(for site: ExtensionSite, _ purpose: ExtensionLaunch.Purpose) -> Confinement {
    var rules = Confinement()
    for path in libraries { rules.allow(.execute, path, isOptional: true) }
    // The Swift runtime that this program uses is one of the system's libraries, wherever it is.
    if let runtime = CurrentProcess.directory(ofLibrary: "libswiftCore.so") { rules.allow(.execute, runtime) }
    for path in lookups { rules.allow(.read, path, isOptional: true) }
    rules.allow(.write, "/dev/null")
    rules.allow(.execute, String(decoding: site.bundle.path, as: UTF8.self))
    rules.allow(.write, site.scratch)
    // One directory for an import: from one mount to another an importer could not move, but only copy.
    rules.changeable = purpose.isImport ? site.files.path : site.scratch
    let access: Confinement.Access = purpose.isImport ? .write : .read
    rules.allow(access, site.container)
    for path in site.groups.values.sorted() { rules.allow(access, path) }
    if case .importing(let directory) = purpose { rules.allow(.write, directory) }
    return rules
  }
}
