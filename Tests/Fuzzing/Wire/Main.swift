import FuzzDriver

/// The program with the targets that need MigrationWire alone. libFuzzer looks at every counter of
/// a program after each input: those of the other modules would cost more than the decoding of a
/// frame.
@main
enum Main {
  static func main() { FuzzTarget.main(FuzzTarget.wire) }
}
