# cpack runs this between staging and packing. It does what Debian asks of every package.
foreach(package mailroom-collector mailproof)
    set(stage ${CPACK_TEMPORARY_DIRECTORY}/${package}/usr)
    if(NOT EXISTS ${stage})
        continue()
    endif()
    set(doc ${stage}/share/doc/${package})
    file(MAKE_DIRECTORY ${doc})
    file(READ ${CPACK_PROJECT_SOURCE}/LICENSE license)
    string(REGEX REPLACE "\n\n" "\n.\n" license "${license}")
    string(REGEX REPLACE "\n" "\n " license "${license}")
    string(STRIP "${license}" license)
    file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: mailproof

Files: *
Copyright: mailproof maintainers
License: MIT
 ${license}
")
    string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
    file(WRITE ${doc}/changelog
"${package} (${CPACK_PACKAGE_VERSION}) stable; urgency=medium

  * See CHANGELOG.md.gz beside this file.

 -- mailproof maintainers <maintainers@mailproof.invalid>  ${date}
")
    if(EXISTS ${doc}/ci/examples)
        file(CREATE_LINK ci/examples ${doc}/examples SYMBOLIC)
    endif()
    file(GLOB pages ${stage}/share/man/man1/*.1)
    execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog ${doc}/CHANGELOG.md COMMAND_ERROR_IS_FATAL ANY)
    list(APPEND stages ${stage})
endforeach()
execute_process(COMMAND ${CPACK_PROJECT_SOURCE}/ci/package-links ${stages} COMMAND_ERROR_IS_FATAL ANY)
