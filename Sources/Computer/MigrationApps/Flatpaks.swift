import MigrationSystem
import MigrationWire

/// Flatpaks: their identifiers, their data, and which of them are installed or run.
package struct Flatpaks: Sendable {
  /// The folders with installations, such as `/var/lib/flatpak`.
  private let installations: [[UInt8]]
  /// The folder with a folder for each running instance; nil where none can run.
  private let instances: [UInt8]?

  /// `instances` is such as `/run/user/1000/.flatpak`.
  package init(installations: [[UInt8]] = [], instances: [UInt8]? = nil) {
    self.installations = installations
    self.instances = instances
  }

  /// The key of the data of a Flatpak that has no description.
  static let container = "container"
  /// The key of its user's changes of its permissions, which can let it run outside of its sandbox.
  package static let overrides = "overrides"
  static let keys = [container, overrides]
  /// The patterns of the data that a Flatpak makes again by itself.
  static let exclusions = ["/cache/", "/.ld.so/"].map { Array($0.utf8) }

  /// Whether a text has the form of a Flatpak's identifier: at least three words with dots between
  /// them.
  package static func isIdentifier(_ text: String) -> Bool {
    let words = text.split(separator: ".", omittingEmptySubsequences: false)
    return AppDescription.isIdentifier(text) && words.count >= 3
      && words.allSatisfy { !$0.isEmpty && !("0"..."9").contains($0.first ?? "0") }
  }

  /// The places of a Flatpak's data, by key, relative to the home.
  static func places(of identifier: String) -> [String: [UInt8]] {
    [
      container: Array(".var/app/\(identifier)".utf8),
      overrides: Array(".local/share/flatpak/overrides/\(identifier)".utf8),
    ]
  }

  /// Whether an installation has it.
  package func has(_ identifier: String) -> Bool { deployed(identifier, "metadata") != nil }

  /// Its name for people, as its launcher has it.
  func name(of identifier: String) -> String? {
    guard let text = deployed(identifier, "export/share/applications/\(identifier).desktop"),
      let file = try? KeyFile(text), let name = file.group("Desktop Entry")?.value("Name"),
      (1...Limits.name).contains(name.utf8.count)
    else { return nil }
    return name
  }

  /// A file of its deployed version.
  private func deployed(_ identifier: String, _ name: String) -> [UInt8]? {
    guard Self.isIdentifier(identifier) else { return nil }
    for installation in installations {
      let path = installation + Array("/app/\(identifier)/current/active/\(name)".utf8)
      if let text = try? FileContent.read(path, limit: AppDescription.longest) { return text }
    }
    return nil
  }

  /// The running Flatpaks, each with the number of a process.
  func running() -> [String: String] {
    var running: [String: String] = [:]
    guard let instances, let directory = try? Directory.open(instances) else { return running }
    try? directory.forEachEntry { (name, _) throws(SystemError) in
      let folder = instances + [UInt8(ascii: "/")] + [UInt8](copying: name)
      guard let info = try? FileContent.read(folder + Array("/info".utf8), limit: AppDescription.longest),
        let identifier = (try? KeyFile(info))?.group("Application")?.value("name"),
        let number = try? FileContent.read(folder + Array("/pid".utf8), limit: 32)
      else { return true }
      // A killed instance leaves its folder.
      let process = String(decoding: number, as: UTF8.self).filter { ("0"..."9").contains($0) }
      if !process.isEmpty, FileContent.isDirectory(Array("/proc/\(process)".utf8)) { running[identifier] = process }
      return true
    }
    return running
  }
}
