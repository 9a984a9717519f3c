/// An extension that exports its app's data and has no options.
public protocol ResourcesExporting: ResourcesExportingWithOptions
where OptionsType == MigrationDefaultSupportedOptions {}
