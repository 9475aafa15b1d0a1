# Two Debian packages, which ci/package builds: mailroom-collector (collector,
# sender, migrations) and mailproof (the harness), which needs the first.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL mailproof mailroom-collector)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_CONTACT "mailproof maintainers <maintainers@mailproof.invalid>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# CPack puts the summary before every description, unless the summary is CPack's own default.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${CMAKE_PROJECT_NAME} built using CMake")

set(CPACK_DEBIAN_MAILPROOF_PACKAGE_NAME mailproof)
set(CPACK_DEBIAN_MAILPROOF_PACKAGE_DEPENDS "mailroom-collector (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_MAILPROOF_PACKAGE_RECOMMENDS "postgresql, python3, python3-psycopg2")
set(CPACK_DEBIAN_MAILPROOF_PACKAGE_SUGGESTS "nodejs")
set(CPACK_DEBIAN_MAILPROOF_DESCRIPTION
"proves that a PostgreSQL-backed mail collector loses nothing
Inserts accounts at configured rates into a real, durable PostgreSQL, breaks
backends, servers, networks, disks and collectors, and gives a verdict with
latency percentiles and an exit code.")

set(CPACK_DEBIAN_MAILROOM-COLLECTOR_PACKAGE_NAME mailroom-collector)
set(CPACK_DEBIAN_MAILROOM-COLLECTOR_PACKAGE_SUGGESTS "postgresql")
set(CPACK_DEBIAN_MAILROOM-COLLECTOR_DESCRIPTION
"dequeues mail tokens from PostgreSQL and writes them in batches
Waits until a batch is full or its oldest token has waited long enough, signs
it, writes it as one line, and moves on only when the line is out. Comes with a
sender that hands mails to an SMTP server, and with the database's migrations.")

# Manual pages are compressed, and each package has its copyright and changelog.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/ci/finish-packages.cmake)
set(CPACK_PROJECT_SOURCE ${PROJECT_SOURCE_DIR})
include(CPack)
