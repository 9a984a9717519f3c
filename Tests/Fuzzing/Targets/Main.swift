import FuzzDriver

/// The program with the targets that look into several modules.
@main
enum Main {
  static func main() {
    FuzzTarget.main(
      FuzzTarget.transfer + FuzzTarget.archive + FuzzTarget.tls + FuzzTarget.apps + FuzzTarget.texts
        + FuzzTarget.values)
  }
}
