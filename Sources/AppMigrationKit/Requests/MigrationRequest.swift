/// The other device's request to an export without options.
public typealias MigrationRequest = MigrationRequestWithOptions<MigrationDefaultSupportedOptions>
