import FuzzDriver
import MigrationWire

@testable import MigrationHost

/// A property list that can be read is written as XML that reads as the same values, and everything
/// that bundles hold is read from it, or refused with a fault.
func checkPropertyList(_ bytes: [UInt8]) {
  guard let list = PropertyList(bytes) else { return }
  promise(list.depth <= 18, "values are nested \(list.depth) deep")
  promise(list.count <= 10_001, "there are \(list.count) values")
  if list.isXML {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist version=\"1.0\">\(list.xml)</plist>"
    // A few bytes of the binary format can be more XML than is read.
    let isShort = text.utf8.count <= PropertyList.longestFile && list.count < 1000
    promise(!isShort || PropertyList(Array(text.utf8)) == list, "a written property list is another one")
  }
  guard case .dictionary(let values) = list else { return }
  let properties = BundleProperties(file: "Info.plist", values: values)
  let faults = BundleProperties.Faults()
  let aliases = read { try properties.aliases(faults) } ?? []
  promise(aliases.allSatisfy { !$0.bundleIdentifier.isEmpty && !$0.platform.isEmpty }, "an alias names nothing")
  let groups = read { try properties.groups(faults) } ?? []
  promise(groups.allSatisfy(AppName.isWellFormed), "a group is not an identifier")
  for key in ["CFBundleIdentifier", "CFBundleExecutable", "CFBundleShortVersionString"] {
    if let text = read({ try properties.requiredText(key) }) {
      promise(!text.isEmpty && text.utf8.count <= Limits.identifier && !text.utf8.contains(0), "a text is unfit")
    }
    if let name = read({ try properties.identifier(key) }) {
      promise(AppName.isWellFormed(name), "\(name) is no identifier")
    }
  }
  if case ()? = read({ try properties.checkAccess(to: "org.example") }) {
    promise(values[ExtensionPoint.containerEntitlement] != nil, "an access is granted that is not there")
  }
  if case ()? = read({ try properties.checkExtensionPoint() }) {
    promise(values["EXAppExtensionAttributes"] != nil, "an extension point is taken that is not there")
  }
}

extension PropertyList {
  fileprivate var depth: Int {
    switch self {
    case .text, .other: 1
    case .array(let values): 1 + (values.map(\.depth).max() ?? 0)
    case .dictionary(let values): 1 + (values.values.map(\.depth).max() ?? 0)
    }
  }

  fileprivate var count: Int {
    switch self {
    case .text, .other: 1
    case .array(let values): values.reduce(1) { $0 + $1.count }
    case .dictionary(let values): values.values.reduce(1) { $0 + $1.count }
    }
  }

  /// Whether XML has all its characters.
  fileprivate var isXML: Bool {
    switch self {
    case .text(let text): Self.isXML(text)
    case .array(let values): values.allSatisfy(\.isXML)
    case .dictionary(let values): values.allSatisfy { Self.isXML($0.key) && $0.value.isXML }
    case .other: true
    }
  }

  private static func isXML(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value & 0xFFFE != 0xFFFE }
  }

  fileprivate var xml: String {
    switch self {
    case .text(let text): "<string>\(Self.escaped(text))</string>"
    case .array(let values): "<array>\(values.map(\.xml).joined())</array>"
    case .dictionary(let values):
      "<dict>\(values.map { "<key>\(Self.escaped($0.key))</key>\($0.value.xml)" }.joined())</dict>"
    case .other: "<true/>"
    }
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
