/// An extension that exports its app's data and knows no options.
public protocol ResourcesExporting: ResourcesExportingWithOptions
where OptionsType == MigrationDefaultSupportedOptions {}
