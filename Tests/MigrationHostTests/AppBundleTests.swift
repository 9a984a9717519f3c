import Expectations
import Foundation
import Glibc
import MigrationWire
import TestSupport
import Testing

@testable import MigrationHost

@Suite struct AppBundleTests {
  private let scratch: Scratch

  init() throws { scratch = try Scratch() }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func `a bundle describes its app`(format: PropertyListSerialization.PropertyListFormat) throws {
    var sample = SampleBundle(groups: ["group.b", "group.a", "group.b"])
    sample.format = format
    sample.info["PeerStoreIdentifier"] = "store"
    sample.info["PeerAliases"] = [
      ["StoreIdentifier": "googlePlay", "BundleIdentifier": "org.example_notes", "Platform": "android"],
      ["BundleIdentifier": "org.example.notes-old", "Platform": "linux"],
    ]
    let path = try sample.write(in: scratch)
    let bundle = try AppBundle(reading: path)
    let base = String(decoding: path, as: UTF8.self)
    expect(bundle.identifier, is: "org.example.notes")
    expect(bundle.version, is: "1.0")
    expect(bundle.store, is: "store")
    expect(bundle.displayName, is: "Notes")
    expect(bundle.executable, is: Array("\(base)/Notes".utf8))
    expect(bundle.groups, is: ["group.a", "group.b"])
    expect(
      bundle.aliases,
      is: [
        AppBundle.Alias(store: "googlePlay", bundleIdentifier: "org.example_notes", platform: "android"),
        AppBundle.Alias(store: "", bundleIdentifier: "org.example.notes-old", platform: "linux"),
      ])
    expect(bundle.migrationExtension?.identifier, is: "org.example.notes.migration")
    expect(
      bundle.migrationExtension?.executable, is: Array("\(base)/Extensions/Migration.appex/Migration".utf8))
    expect(bundle.migrationExtension?.groups, is: ["group.a", "group.b"])
  }

  @Test func `store, name, aliases and groups may be missing, and so may the app's entitlements`() throws {
    var sample = SampleBundle()
    sample.info["CFBundleDisplayName"] = nil
    sample.entitlements = nil
    sample.extensionEntitlements?["com.apple.security.application-groups"] = nil
    let bundle = try AppBundle(reading: try sample.write(in: scratch))
    expect(bundle.store.isEmpty && bundle.displayName == nil && bundle.aliases.isEmpty && bundle.platform == nil)
    expect(bundle.otherExtensions.isEmpty)
    expect(bundle.allGroups.isEmpty)
  }

  @Test func `the groups of app and extension may differ`() throws {
    var sample = SampleBundle(groups: ["group.one", "group.both"])
    sample.extensionEntitlements?["com.apple.security.application-groups"] = ["group.both", "group.two"]
    let bundle = try AppBundle(reading: try sample.write(in: scratch))
    expect(bundle.groups, is: ["group.both", "group.one"])
    expect(bundle.migrationExtension?.groups, is: ["group.both", "group.two"])
    expect(bundle.allGroups, is: ["group.both", "group.one", "group.two"])
  }

  @Test(arguments: [(nil, "googlePlay"), ("other", "other"), ("", "")] as [(String?, String)])
  func `a bundle may be for another platform, with that platform's usual store`(store: String?, expected: String) throws
  {
    var sample = SampleBundle()
    sample.info["PeerPlatform"] = "android"
    sample.info["PeerStoreIdentifier"] = store
    let bundle = try AppBundle(reading: try sample.write(in: scratch))
    expect(bundle.platform == "android" && bundle.store == expected)
  }

  @Test func `extensions of other kinds are ignored, regardless of their other properties`() throws {
    var sample = SampleBundle()
    sample.add("Widget", ["EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.apple.widgetkit-extension"]])
    sample.add("Old", ["NSExtension": ["NSExtensionPointIdentifier": "com.apple.share-services"]])
    let bundle = try AppBundle(reading: try sample.write(in: scratch))
    expect(bundle.otherExtensions, is: ["Extensions/Old.appex", "Extensions/Widget.appex"])
    expect(bundle.migrationExtension?.identifier, is: "org.example.notes.migration")
  }

  @Test func `an app needs no migration extension, and a bundle without one may have others`() throws {
    var sample = SampleBundle()
    sample.hasExtension = false
    expect(try AppBundle(reading: try sample.write(in: scratch)).migrationExtension == nil)
    sample.add("Widget", ["EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.apple.widgetkit-extension"]])
    let one = try AppBundle(reading: try sample.write(in: scratch))
    expect(one.migrationExtension == nil && one.otherExtensions == ["Extensions/Widget.appex"])
    sample.add("Old", ["NSExtension": ["NSExtensionPointIdentifier": "com.apple.share-services"]])
    let two = try AppBundle(reading: try sample.write(in: scratch))
    expect(two.migrationExtension == nil && two.otherExtensions.count == 2)
    expect(two.allGroups, is: ["group.notes"])
  }

  /// One way to damage a bundle, and the resulting fault.
  struct Fault: Sendable, CustomTestStringConvertible {
    let file: String
    /// The text after the file.
    let reason: String
    let spoil: @Sendable (inout SampleBundle) -> Void

    init(_ file: String, _ reason: String, _ spoil: @escaping @Sendable (inout SampleBundle) -> Void) {
      self.file = file
      self.reason = reason
      self.spoil = spoil
    }

    var testDescription: String { "\(file): \(reason)" }
  }

  private static let inner = "Extensions/Migration.appex"
  private static let access = "com.apple.developer.app-migration.data-container-access"
  private static let groups = "com.apple.security.application-groups"

  static let faults = [
    Fault("Info.plist", "it is missing") { $0.files["Info.plist"] = .some(nil) },
    Fault("Info.plist", "it is not an XML or binary property list that contains a dictionary") {
      $0.files["Info.plist"] = "{ CFBundleIdentifier = x; }"
    },
    Fault("Info.plist", "it is not an XML or binary property list that contains a dictionary") {
      $0.files["Info.plist"] = "<plist><array/></plist>"
    },
    Fault("Info.plist", "it is not an XML or binary property list that contains a dictionary") {
      $0.files["Info.plist"] = ""
    },
    Fault("Info.plist", "it cannot be read: it is too long") {
      $0.files["Info.plist"] = String(repeating: " ", count: 70_000)
    },
    Fault("Info.plist", "CFBundleIdentifier: it is missing") { $0.info["CFBundleIdentifier"] = nil },
    Fault("Info.plist", "CFBundleIdentifier: it is not a string") { $0.info["CFBundleIdentifier"] = 7 },
    Fault("Info.plist", "CFBundleIdentifier: it is empty") { $0.info["CFBundleIdentifier"] = "" },
    Fault("Info.plist", "CFBundleIdentifier: 'a/b' is not an identifier") { $0.info["CFBundleIdentifier"] = "a/b" },
    Fault("Info.plist", "CFBundleIdentifier: 'a..b' is not an identifier") { $0.info["CFBundleIdentifier"] = "a..b" },
    Fault("Info.plist", "CFBundleIdentifier: '.a' is not an identifier") { $0.info["CFBundleIdentifier"] = ".a" },
    Fault("Info.plist", "CFBundleIdentifier: $'a\\x1b' is not an identifier") {
      $0.info["CFBundleIdentifier"] = "a\u{1B}"
    },
    Fault("Info.plist", "CFBundleIdentifier: 'ä' is not an identifier") { $0.info["CFBundleIdentifier"] = "ä" },
    Fault("Info.plist", "CFBundleShortVersionString: it is missing") { $0.info["CFBundleShortVersionString"] = nil },
    Fault("Info.plist", "CFBundleShortVersionString: it is not a string") {
      $0.info["CFBundleShortVersionString"] = 1.0
    },
    Fault("Info.plist", "CFBundleShortVersionString: it is longer than 1024 bytes, or contains a NUL") {
      $0.info["CFBundleShortVersionString"] = String(repeating: "1", count: 1025)
    },
    Fault("Info.plist", "CFBundleExecutable: it is missing") { $0.info["CFBundleExecutable"] = nil },
    Fault("Info.plist", "CFBundleExecutable: '../x' is not the name of a file next to it") {
      $0.info["CFBundleExecutable"] = "../x"
    },
    Fault("Info.plist", "CFBundleExecutable: '..' is not the name of a file next to it") {
      $0.info["CFBundleExecutable"] = ".."
    },
    Fault("Info.plist", "CFBundleExecutable: there is no file 'Other' next to it") {
      $0.info["CFBundleExecutable"] = "Other"
    },
    Fault("Info.plist", "CFBundleExecutable: there is no file 'Extensions' next to it") {
      $0.info["CFBundleExecutable"] = "Extensions"
    },
    Fault("Notes", "it is not executable") { $0.spoil = { chmod("\($0)/Notes", 0o644) } },
    Fault("Notes", "it is a symbolic link") {
      $0.spoil = {
        unlink("\($0)/Notes")
        symlink("Extensions/Migration.appex/Migration", "\($0)/Notes")
      }
    },
    Fault("Info.plist", "PeerStoreIdentifier: it is not a string") { $0.info["PeerStoreIdentifier"] = ["x"] },
    Fault("Info.plist", "CFBundleDisplayName: it is not a string") { $0.info["CFBundleDisplayName"] = true },
    Fault("Info.plist", "PeerPlatform: it is not a string") { $0.info["PeerPlatform"] = 7 },
    Fault("Info.plist", "PeerAliases: it is not an array") { $0.info["PeerAliases"] = "x" },
    Fault("Info.plist", "PeerAliases[0]: it is not a dictionary") { $0.info["PeerAliases"] = ["x"] },
    Fault("Info.plist", "PeerAliases[1].Platform: it is missing") {
      $0.info["PeerAliases"] = [["BundleIdentifier": "a", "Platform": "b"], ["BundleIdentifier": "a"]]
    },
    Fault("Info.plist", "PeerAliases[0].BundleIdentifier: it is not a string") {
      $0.info["PeerAliases"] = [["BundleIdentifier": 1, "Platform": "b"]]
    },
    Fault("Entitlements.plist", "\(groups): it is not an array") { $0.entitlements = [groups: "group.notes"] },
    Fault("Entitlements.plist", "\(groups): it contains a value that is not a string") {
      $0.entitlements = [groups: [1]]
    },
    Fault("Entitlements.plist", "\(groups): '../x' is not a group identifier") { $0.entitlements = [groups: ["../x"]] },
    Fault("Extensions", "it is not a directory") {
      $0.spoil = {
        rename("\($0)/Extensions", "\($0)/Other")
        rename("\($0)/Info.plist", "\($0)/Extensions")
        try Data(contentsOf: URL(fileURLWithPath: "\($0)/Extensions")).write(
          to: URL(fileURLWithPath: "\($0)/Info.plist"))
      }
    },
    Fault("Extensions", "it contains 2 migration extensions") {
      $0.add("Other", ["EXAppExtensionAttributes": ["EXExtensionPointIdentifier": "com.apple.app-migration"]])
    },
    Fault("Extensions", "it contains 2 migration extensions") {
      $0.spoil = { mkdir("\($0)/Extensions/Other.appex", 0o755) }
    },
    Fault("\(inner)/Info.plist", "it is missing") { $0.files["\(inner)/Info.plist"] = .some(nil) },
    Fault("\(inner)/Info.plist", "CFBundleIdentifier: it is missing") { $0.extensionInfo["CFBundleIdentifier"] = nil },
    Fault("\(inner)/Info.plist", "CFBundleExecutable: there is no file 'x' next to it") {
      $0.extensionInfo["CFBundleExecutable"] = "x"
    },
    Fault("\(inner)/Migration", "it is not executable") { $0.spoil = { chmod("\($0)/\(inner)/Migration", 0o600) } },
    Fault("\(inner)/Info.plist", "EXAppExtensionAttributes: it is missing") {
      $0.extensionInfo["EXAppExtensionAttributes"] = nil
    },
    Fault("\(inner)/Info.plist", "EXAppExtensionAttributes: it is not a dictionary") {
      $0.extensionInfo["EXAppExtensionAttributes"] = "com.apple.app-migration"
    },
    Fault("\(inner)/Info.plist", "EXAppExtensionAttributes.EXExtensionPointIdentifier: it is missing") {
      $0.extensionInfo["EXAppExtensionAttributes"] = ["x": "y"]
    },
    Fault("\(inner)/Info.plist", "EXAppExtensionAttributes.EXExtensionPointIdentifier: it is not a string") {
      $0.extensionInfo["EXAppExtensionAttributes"] = ["EXExtensionPointIdentifier": 1]
    },
    Fault("\(inner)/Entitlements.plist", "it is missing") { $0.extensionEntitlements = nil },
    Fault("\(inner)/Entitlements.plist", "\(access): it is missing") { $0.extensionEntitlements?[access] = nil },
    Fault("\(inner)/Entitlements.plist", "\(access): it is not an array") {
      $0.extensionEntitlements?[access] = "org.example.notes"
    },
    Fault("\(inner)/Entitlements.plist", "\(access): it has 0 entries") {
      $0.extensionEntitlements?[access] = [String]()
    },
    Fault("\(inner)/Entitlements.plist", "\(access): it has 2 entries") {
      $0.extensionEntitlements?[access] = ["org.example.notes", "org.example.other"]
    },
    Fault("\(inner)/Entitlements.plist", "\(access): it contains a value that is not a string") {
      $0.extensionEntitlements?[access] = [true]
    },
    Fault("\(inner)/Entitlements.plist", "\(access): it names 'org.example.other', which is not the app") {
      $0.extensionEntitlements?[access] = ["org.example.other"]
    },
    Fault("\(inner)/Entitlements.plist", "\(groups): it is not an array") {
      $0.extensionEntitlements?[groups] = ["a": "b"]
    },
    Fault("Data/pipe", "it is a named pipe") {
      $0.files["Data/file"] = ""
      $0.spoil = { mkfifo("\($0)/Data/pipe", 0o644) }
    },
    Fault("socket", "it is a socket") { $0.spoil = { makeSocket("\($0)/socket") } },
    Fault("link", "the symbolic link points to '/etc', which may be outside the bundle") {
      $0.spoil = { symlink("/etc", "\($0)/link") }
    },
    Fault("link", "the symbolic link points to '../x', which may be outside the bundle") {
      $0.spoil = { symlink("../x", "\($0)/link") }
    },
    Fault("a/b/link", "the symbolic link points to '../../../x', which may be outside the bundle") {
      $0.files["a/b/file"] = ""
      $0.spoil = { symlink("../../../x", "\($0)/a/b/link") }
    },
    // Each of the two names alone stays inside; together they do not.
    Fault("a/b/out", "the symbolic link points to 'up/../x', which may be outside the bundle") {
      $0.files["a/b/file"] = ""
      $0.spoil = {
        symlink("../..", "\($0)/a/b/up")
        symlink("up/../x", "\($0)/a/b/out")
      }
    },
  ]

  @Test(arguments: faults)
  func `a fault is reported with its file, its key and the reason`(fault: Fault) throws {
    var sample = SampleBundle()
    fault.spoil(&sample)
    let path = try sample.write(in: scratch)
    let error = #expect(throws: Failure.self) { try AppBundle(reading: path) }
    expect(error?.code, is: .unfitApp)
    expect(error?.description, is: "the bundle is invalid: '\(fault.file)': \(fault.reason)")
    expect(error?.hint?.isEmpty, is: false)
    // No part of it is installed either.
    #expect(throws: Failure.self) { try scratch.home().install(path) }
    expect(try scratch.home().list().apps.isEmpty)
  }

  @Test func `a device is refused`() throws {
    var sample = SampleBundle()
    sample.spoil = { _ = mknod("\($0)/null", S_IFCHR | 0o666, 0x0103) }
    let path = try sample.write(in: scratch)
    guard exists(String(decoding: path, as: UTF8.self) + "/null") else { return }
    let error = #expect(throws: Failure.self) { try AppBundle(reading: path) }
    expect(error?.description, is: "the bundle is invalid: 'null': it is a device")
  }

  @Test func `a path without a bundle is another kind of failure`() throws {
    let error = #expect(throws: Failure.self) { try AppBundle(reading: Array("\(scratch.path)/none".utf8)) }
    expect(error?.code, is: .source)
  }

  @Test func `a property list designed to exhaust the parser is refused`() throws {
    let nested = "<plist>" + String(repeating: "<array>", count: 4_000) + String(repeating: "</array>", count: 4_000)
    expect(PropertyList(Array((nested + "</plist>").utf8)) == nil)
    // An array in the binary format that is its own first element, and one that represents 10^16
    // values.
    let trailer = { (objects: UInt8, table: UInt8) -> [UInt8] in
      [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, objects] + [UInt8](repeating: 0, count: 8)
        + [0, 0, 0, 0, 0, 0, 0, table]
    }
    expect(PropertyList(Array("bplist00".utf8) + [0xA1, 0, 8] + trailer(1, 10)) == nil)
    // A text that is longer than the file.
    expect(PropertyList(Array("bplist00".utf8) + [0x6F, 0x10, 0x40, 8] + trailer(1, 11)) == nil)
    var bomb = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for level in 0..<15 as Range<UInt8> {
      offsets.append(UInt8(bomb.count))
      bomb += [0xAA] + [UInt8](repeating: level + 1, count: 10)
    }
    offsets.append(UInt8(bomb.count))
    bomb.append(0x09)
    let table = UInt8(bomb.count)
    expect(PropertyList(bomb + offsets + trailer(16, table)) == nil)
  }

  @Test(
    arguments: [
      ("a", true), ("0", true), ("A-z.0", true), ("a.b.c", true), ("a-", true), ("a.", true), ("", false),
      ("-a", false), (".", false), ("a..b", false), ("a_b", false), ("a b", false), ("a/b", false), ("é", false),
      (String(repeating: "a", count: 200), true), (String(repeating: "a", count: 201), false),
    ] as [(String, Bool)])
  func `an identifier can be a file name`(text: String, isOne: Bool) {
    expect(AppName.isWellFormed(text), is: isOne)
  }

  @Test func `the groups that only the app or only its extension lists are told apart`() throws {
    let scratch = try Scratch()
    var sample = SampleBundle(groups: ["group.both", "group.app"])
    sample.extensionEntitlements?["com.apple.security.application-groups"] = ["group.both", "group.extension"]
    let found = try AppBundle(reading: try sample.write(in: scratch)).unsharedGroups
    expect(found.map(\.group), is: ["group.app", "group.extension"])
    expect(found.map(\.isOfApp), is: [true, false])
    let files = found.map { String(decoding: $0.file, as: UTF8.self) }
    expect(files, is: ["Entitlements.plist", "Extensions/Migration.appex/Entitlements.plist"])
  }
}

private func makeSocket(_ path: String) {
  let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
  defer { close(socket) }
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
  let result = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
  precondition(result == 0)
}
