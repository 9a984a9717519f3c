import CSystem
import Glibc

/// The calls of a confined process that change metadata of files: the kernel holds them back,
/// and this process makes those that concern some directories.
struct AttributeCalls: ~Copyable, Sendable {
  private let listener: Descriptor
  private let directories: [SharedDescriptor]

  init(_ listener: consuming Descriptor, in directories: [SharedDescriptor]) {
    self.listener = listener
    self.directories = directories
  }

  /// The descriptor that becomes readable when a call waits.
  var raw: CInt { listener.raw }

  /// Makes the waiting call if it concerns the directories or items below them, and answers with
  /// its result, otherwise with a refusal. A process that has ended meanwhile needs no answer.
  func answer() {
    let numbers = directories.map(\.raw)
    _ = unsafe csystem_answer(listener.raw, numbers, numbers.count)
  }

  /// The directories among the places of some rules; a rule can also be about a single file.
  static func directories(of rules: [Confinement.Rule]) throws(SystemError) -> [SharedDescriptor] {
    var found: [SharedDescriptor] = []
    for rule in rules {
      do throws(SystemError) {
        let raw = try calling("open", rule.path.escapedText) {
          unsafe open(rule.path, csystem_open_path | O_DIRECTORY | O_CLOEXEC)
        }
        found.append(SharedDescriptor(Descriptor(owning: raw)))
      } catch  where error.errno == ENOTDIR || (rule.isOptional && error.isNotFound) {
        continue
      }
    }
    return found
  }
}
