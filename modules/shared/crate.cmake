# A module that is a crate, built by Cargo.
#
# ipcmark_crate(NAME RUST version BARE transport...)
#
# Builds the crate of the current folder, and its programs bare-TRANSPORT. Its dependencies come from the registry: if
# they can neither be fetched nor are already there, or the compiler is older than the version, only the other modules
# are built.
find_program(IPCMARK_CARGO cargo HINTS "$ENV{HOME}/.cargo/bin")

# One target of the crate, copied to its destination. Cargo records which files it was made from. One folder for all
# crates, so that a dependency of several is compiled once.
function(ipcmark_cargo target option made copy)
    set(folder "${PROJECT_BINARY_DIR}/crates")
    set(built "${folder}/${IPCMARK_CARGO_TARGET}/${IPCMARK_PROFILE}")
    get_filename_component(stem "${made}" NAME_WE)
    get_filename_component(place "${copy}" DIRECTORY)
    add_custom_command(OUTPUT "${built}/${made}"
        COMMAND ${cargo} build --profile ${IPCMARK_PROFILE} --quiet ${option} ${manifest} --target-dir "${folder}"
            $<$<BOOL:${IPCMARK_CARGO_TARGET}>:--target=${IPCMARK_CARGO_TARGET}>
        DEPENDS Cargo.toml Cargo.lock DEPFILE "${built}/${stem}.d" COMMAND_EXPAND_LISTS
        COMMENT "Building ${target} with Cargo, which takes a minute" VERBATIM)
    add_custom_command(OUTPUT "${copy}"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${place}"
        COMMAND ${CMAKE_COMMAND} -E copy "${built}/${made}" "${copy}"
        DEPENDS "${built}/${made}" COMMENT "Copying ${copy}" VERBATIM)
    add_custom_target(${target} ${ARGN} DEPENDS "${copy}")
endfunction()

# Defines the Cargo command for the crate of a folder, without flags of the environment or of .cargo/config.toml.
macro(ipcmark_call_cargo folder)
    set(manifest --manifest-path "${folder}/Cargo.toml" --locked)
    set(cargo ${CMAKE_COMMAND} -E env RUSTFLAGS= ${IPCMARK_CARGO})
endmacro()

# Fetches the dependencies of a folder's crate. `fetched` is false if they can neither be fetched nor are already there;
# then the module is left out.
function(ipcmark_fetch name folder fetched)
    ipcmark_call_cargo("${folder}")
    set(${fetched} FALSE PARENT_SCOPE)
    if(NOT IPCMARK_CARGO)
        ipcmark_left_out(${name} "no cargo: https://rustup.rs")
        return()
    endif()
    execute_process(COMMAND ${cargo} fetch ${manifest} --offline
        RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
        execute_process(COMMAND ${cargo} fetch ${manifest}
            RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE why)
    endif()
    if(why MATCHES "--locked")
        message(FATAL_ERROR "${folder}/Cargo.lock lacks what a crate of ipcmark depends on now; mend it: "
            "cargo update --workspace --manifest-path ${folder}/Cargo.toml")
    elseif(NOT status EQUAL 0)
        string(REGEX MATCH "error:[^\n]*" why "${why}")
        ipcmark_left_out(${name} "the crate cannot be fetched: ${why}")
        return()
    endif()
    set(${fetched} TRUE PARENT_SCOPE)
endfunction()

function(ipcmark_crate name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "RUST" "BARE")
    ipcmark_call_cargo("${CMAKE_CURRENT_SOURCE_DIR}")
    ipcmark_fetch(${name} "${CMAKE_CURRENT_SOURCE_DIR}" fetched)
    if(NOT fetched)
        return()
    endif()
    execute_process(COMMAND rustc --version OUTPUT_VARIABLE version)
    string(REGEX MATCH "[0-9]+\\.[0-9]+" version "${version}")
    if(version VERSION_LESS ${arg_RUST})
        ipcmark_left_out(${name} "it needs Rust ${arg_RUST} or later")
        return()
    endif()
    ipcmark_cargo(module-${name} --lib libipcmark_${name}.so "${IPCMARK_MODULE_DIR}/${name}.so" ALL)
    list(TRANSFORM arg_BARE PREPEND bare-)
    foreach(bare IN LISTS arg_BARE)
        ipcmark_cargo(${bare} --bin=${bare} ${bare} "${PROJECT_BINARY_DIR}/bare/${bare}")
        add_dependencies(bare ${bare})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY IPCMARK_BUILT ${name})
endfunction()

# ipcmark_crate_sources(NAME CRATE crate RESULT variable)
#
# The folder of a crate that contains the sources of a C library, and that `sources/Cargo.toml` of the current folder
# names; empty if it cannot be fetched. Cargo compiles none of it.
function(ipcmark_crate_sources name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "CRATE;RESULT" "")
    set(${arg_RESULT} "" PARENT_SCOPE)
    set(folder "${CMAKE_CURRENT_SOURCE_DIR}/sources")
    ipcmark_call_cargo("${folder}")
    ipcmark_fetch(${name} "${folder}" fetched)
    if(NOT fetched)
        return()
    endif()
    execute_process(COMMAND ${cargo} metadata ${manifest} --offline --format-version 1
        OUTPUT_VARIABLE crates COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCH "\"manifest_path\":\"([^\"]*/${arg_CRATE}-[0-9][^\"/]*)/Cargo.toml\"" found "${crates}")
    set(${arg_RESULT} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()
