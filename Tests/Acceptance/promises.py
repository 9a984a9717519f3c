"""The checks of Scripts/test: one for each promise to a user of the built program. None of them
needs root, namespaces, or packages other than the build's. Of a check with parameters, only the
first form runs."""

PROMISES = {
    "a tree arrives with its names, contents and metadata": [
        "test_transfers.py: test_a_varied_tree", "test_transfers.py: test_an_empty_directory",
        "test_transfers.py: test_an_empty_file", "test_transfers.py: test_a_file_a_folder_and_a_dangling_link",
        "test_metadata.py: test_metadata_as_an_unprivileged_user", "test_names.py: test_names_of_every_kind_arrive"],
    "only the device with the code is let in": [
        "test_transfers.py: test_a_wrong_code_keeps_the_right_one_valid",
        "test_transfers.py: test_a_mistyped_code_sends_nothing"],
    "existing items are as the user asked": [
        "test_existing.py: test_refuse", "test_existing.py: test_skip", "test_existing.py: test_keep_both",
        "test_existing.py: test_replace", "test_existing.py: test_merge", "test_transfers.py: test_a_name_that_is_taken"],
    "devices that do not reach each other meet at a relay": ["test_relays.py: test_a_transfer_through_a_relay"],
    "a transfer resumes": [
        "test_resuming.py: test_killed_past_ninety_percent", "test_resuming.py: test_an_interrupted_sender",
        "test_resuming.py: test_a_terminated_receiver", "test_resuming.py: test_resume_list_and_forget"],
    "the user chooses what is sent, and how": [
        "test_selecting.py: test_the_last_pattern_that_matches_decides", "test_selecting.py: test_caches",
        "test_compressing.py: test_compressing_always_and_never", "test_estimates.py: test_the_limit_of_folders"],
    "bad input gets a sentence, a hint and its exit code": [
        "test_transfers.py: test_a_missing_source", "test_unreached.py: test_nothing_listens",
        "test_unreached.py: test_json_has_only_the_error", "test_names.py: test_names_in_errors"],
    "scripts need no terminal": [
        "test_scripts.py: test_a_given_code", "test_scripts.py: test_a_given_code_is_spent",
        "test_scripts.py: test_no_question"],
    "a receiver may stay": [
        "test_staying.py: test_a_sender_without_a_receipt", "test_staying.py: test_failures_do_not_end_the_run",
        "test_staying.py: test_a_restart", "test_staying.py: test_known_devices"],
    "an app's data moves": [
        "test_migrating.py: test_data_group_and_status_arrive", "test_migrating.py: test_an_exporter_that_throws",
        "test_migrating.py: test_an_importer_that_crashes", "test_migrating.py: test_offers_that_are_refused",
        "test_migrating.py: test_an_app_and_a_migration_keep_each_other_out",
        "test_apps_on_one_device.py: test_an_interrupted_import_is_undone",
        "test_readiness.py: test_an_extension_that_cannot_import"],
    "one code moves a whole computer": [
        "test_moving.py: test_folders_and_apps_under_one_code", "test_moving.py: test_a_part_that_fails",
        "test_moving.py: test_everything", "test_moving.py: test_a_killed_migration",
        "test_moving.py: test_what_the_receiver_does_not_allow", "test_moving.py: test_a_move_that_goes_on_late"],
    "what may run and what is secret arrives only if the new computer's user says so": [
        "test_arriving.py: test_the_rest_arrives", "test_arriving.py: test_names", "test_arriving.py: test_answers_are_kept",
        "test_arriving.py: test_answers_of_a_place", "test_arriving.py: test_a_second_start"],
    "an extension sees only its app's files": ["test_confinement.py: test_an_apps_receiver_and_extension"],
    "authors can check their apps": [
        "test_checking.py: test_a_fit_bundle", "test_checking.py: test_every_fault", "test_checking.py: test_a_migration",
        "test_defaults.py: test_an_apps_values_are_kept", "test_new_app.py: test_refused_folders"],
    "a clip becomes its app": ["test_clips.py: test_a_clip_becomes_its_app", "test_clips.py: test_incompatible_bundles"],
    "secrets stay secret": [
        "test_credentials.py: test_credentials_outlive_the_app", "test_credentials.py: test_a_copy_of_peer_home",
        "test_credentials.py: test_accounts", "test_broker.py: test_no_secret_leaks", "test_secrets.py: test_a_crash",
        "test_linking.py: test_an_app_links_no_cryptography"],
    "help, completion and pages": [
        "test_manual.py: test_other_topics", "test_readme.py: test_links", "test_readme.py: test_checks",
        "test_readme.py: test_the_version", "test_readme.py: test_every_command"],
}


def chosen(items):
    """The checks of the table among all, each in its first form that needs no root. Fails if one of
    the table is missing."""
    wanted = {name for names in PROMISES.values() for name in names}
    found = {}
    for item in items:
        name = f"{item.path.name}: {item.originalname}"
        if name in wanted and not any(probe.__name__ == "root" for mark in item.iter_markers("needs") for probe in mark.args):
            found.setdefault(name, item)
    if wanted - found.keys():
        raise ValueError(f"no check is named {', '.join(sorted(wanted - found.keys()))}")
    return list(found.values())
