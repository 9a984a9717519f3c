/// What the other device wants of an export that knows no options.
public typealias MigrationRequest = MigrationRequestWithOptions<MigrationDefaultSupportedOptions>
