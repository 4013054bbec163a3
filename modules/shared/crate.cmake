# A module that is a crate, built by Cargo.
#
# ipcmark_crate(NAME RUST version BARE transport)
#
# The crate of the current folder, and its program bare-TRANSPORT. It comes from the registry: if it can neither be
# fetched nor is there already, or the compiler is older than the version, the other modules are built all the same.
find_program(IPCMARK_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin")

# One target of the crate, copied to where it is used. Cargo writes down which files it was made from.
function(ipcmark_cargo target option made copy)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/target")
    set(built "${folder}/${IPCMARK_CARGO_PROFILE}")
    get_filename_component(stem "${made}" NAME_WE)
    get_filename_component(place "${copy}" DIRECTORY)
    add_custom_command(OUTPUT "${built}/${made}"
        COMMAND ${cargo} build --profile ${IPCMARK_CARGO_PROFILE} --quiet ${option} ${manifest} --target-dir "${folder}"
        DEPENDS Cargo.toml Cargo.lock DEPFILE "${built}/${stem}.d"
        COMMENT "Building ${target} with Cargo, which takes a minute" VERBATIM)
    add_custom_command(OUTPUT "${copy}"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${place}"
        COMMAND ${CMAKE_COMMAND} -E copy "${built}/${made}" "${copy}"
        DEPENDS "${built}/${made}" COMMENT "Copying ${copy}" VERBATIM)
    add_custom_target(${target} ${ARGN} DEPENDS "${copy}")
endfunction()

function(ipcmark_crate name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "RUST;BARE" "")
    if(NOT IPCMARK_CARGO)
        ipcmark_left_out(${name} "no cargo: https://rustup.rs")
        return()
    endif()
    set(manifest --manifest-path "${CMAKE_CURRENT_SOURCE_DIR}/Cargo.toml" --locked)
    set(cargo ${CMAKE_COMMAND} -E env --unset=RUSTFLAGS ${IPCMARK_CARGO})
    execute_process(COMMAND ${cargo} fetch ${manifest} --offline
        RESULT_VARIABLE fetched OUTPUT_QUIET ERROR_QUIET)
    if(NOT fetched EQUAL 0)
        execute_process(COMMAND ${cargo} fetch ${manifest}
            RESULT_VARIABLE fetched OUTPUT_QUIET ERROR_VARIABLE why)
    endif()
    if(why MATCHES "--locked")
        message(FATAL_ERROR "modules/${name}/Cargo.lock lacks what a crate of ipcmark depends on now; mend it: "
            "cargo update --workspace --manifest-path modules/${name}/Cargo.toml")
    elseif(NOT fetched EQUAL 0)
        string(REGEX MATCH "error:[^\n]*" why "${why}")
        ipcmark_left_out(${name} "the crate cannot be fetched: ${why}")
        return()
    endif()
    execute_process(COMMAND rustc --version OUTPUT_VARIABLE version)
    string(REGEX MATCH "[0-9]+\\.[0-9]+" version "${version}")
    if(version VERSION_LESS ${arg_RUST})
        ipcmark_left_out(${name} "it needs Rust ${arg_RUST} or later")
        return()
    endif()
    ipcmark_cargo(module-${name} --lib libipcmark_${name}.so "${IPCMARK_MODULE_DIR}/${name}.so" ALL)
    set(bare bare-${arg_BARE})
    ipcmark_cargo(${bare} --bin=${bare} ${bare} "${PROJECT_BINARY_DIR}/bare/${bare}")
    add_dependencies(bare ${bare})
    set_property(GLOBAL APPEND PROPERTY IPCMARK_BUILT ${name})
endfunction()
