import Foundation
import PeerTransfer

/// Carries files and folders from one device to another.
@main struct Carry {
  static func main() async {
    let words = CommandLine.arguments
    do throws(PeerError) {
      switch words.dropFirst().first {
      case "receive" where words.count == 3: try await receive(into: words[2])
      case "send" where words.count == 4: try await send(words[2], to: PeerSender.Target(words[3]))
      default: print("Usage: carry receive DIRECTORY | carry send PATH HOST[:PORT]")
      }
    } catch {
      print("carry: \(error)")
      exit(error.exitCode)
    }
  }

  static func receive(into directory: String) async throws(PeerError) {
    let receiver = PeerReceiver(into: PeerPath(directory))
    let telling = Task {
      for await event in receiver.events { if case .code(let code, _) = event { print("Code: \(code)") } }
    }
    let result = try await receiver.receive()
    await telling.value
    print("Received \(result.items) items, \(result.bytes) bytes.")
  }

  static func send(_ path: String, to target: PeerSender.Target) async throws(PeerError) {
    let result = try await PeerSender([PeerPath(path)], to: target).send { device in
      print("Code shown on \(device): ", terminator: "")
      return readLine().flatMap { try? PeerCode($0) }
    }
    print("Sent \(result.items) items, \(result.bytes) bytes.")
  }
}
