/// How many bytes of content a sender has put on the wire, and how many compression has kept off it.
package struct Traffic: Equatable, Sendable {
  package var sent: UInt64 = 0
  package var saved: UInt64 = 0
}
